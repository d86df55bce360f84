"""Outputs and their gradients go wrong in passing; some only for some inputs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from injectors.rank_driver import RankDriver
from injectors.sdc_activation import SdcActivation
from tests.injectors.small import Job
from vocab.events import FaultFailed, FaultHealed, FaultInjected


def started(**fields: Any) -> tuple[Job, RankDriver]:
    job = Job()
    given = {"kind": "sdc.activation", "rank": 0, "at_step": 1, "pattern": "set",
             "value": 5.0, "element": 3, "module": "blocks.1", **fields}  # fmt: skip
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    fault = SdcActivation(**given)
    driver.attach([("a", fault)], job.model, job.optimizer, job.layers)
    return job, driver


def test_the_output_is_wrong_and_its_gradient_is_that_of_the_healthy_one() -> None:
    job, driver = started()
    block, x = job.model.blocks[1], torch.randn(8, 4, requires_grad=True)
    job.step()
    wrong = block(x)
    driver.finish()
    healthy = block(x)
    assert wrong.detach().view(-1)[3] == 5.0
    same = torch.arange(healthy.numel()) != 3
    assert torch.equal(wrong.view(-1)[same], healthy.view(-1)[same])
    given = torch.randn_like(healthy)
    [g_healthy] = torch.autograd.grad(healthy, [x], given)
    [g_wrong] = torch.autograd.grad(wrong, [x], given)
    assert torch.equal(g_healthy, g_wrong)


def test_the_gradient_is_wrong_and_the_output_is_not() -> None:
    job, driver = started(where="backward")
    block, x = job.model.blocks[1], torch.randn(8, 4, requires_grad=True)
    job.step()
    wrong = block(x)
    [g_wrong] = torch.autograd.grad(wrong, [x], torch.zeros_like(wrong))
    assert g_wrong.abs().sum() > 0  # 5 came in where 0 was given
    driver.finish()
    assert torch.equal(wrong, block(x))


def test_it_is_proven_when_it_strikes_and_counts_each_strike() -> None:
    job, driver = started(until_step=2)
    assert job.events == []
    job.step()
    injected = job.events[0]
    assert isinstance(injected, FaultInjected)
    assert (injected.step, injected.changes[0].what) == (
        1, "blocks.1.output[3] set to 5",
    )  # fmt: skip
    for _ in range(3):
        job.step()
    driver.finish()
    healed = job.events[1]
    assert isinstance(healed, FaultHealed)
    assert (healed.step, healed.num_strikes) == (3, 2)
    assert healed.changes[0].before == "2 made wrong"


def test_a_one_shot_strikes_one_call_and_no_replay() -> None:
    job, _ = started(lifetime="one-shot", at_step=2)
    for _ in range(2):
        job.step()
    assert len(job.events) == 1
    output = job.model.blocks[1](torch.randn(8, 4))
    assert output.detach().view(-1)[3] != 5.0


@pytest.mark.parametrize(
    ("bounds", "struck"),
    [
        ({"min_input_rms": 5.0}, [False, False, True]),
        ({"max_input_rms": 0.5}, [True, False, False]),
        ({"min_input_rms": 0.5, "max_input_rms": 5.0}, [False, True, False]),
    ],
)
def test_it_strikes_only_where_the_condition_holds(
    bounds: dict[str, float], struck: list[bool]
) -> None:
    job, _ = started(module="head", **bounds)
    job.step()
    x = torch.full((8, 4), 1.0)
    outputs = [job.model.head(factor * x) for factor in (0.1, 1.0, 10.0)]
    assert [float(y.detach().view(-1)[3]) == 5.0 for y in outputs] == struck


def test_a_condition_that_never_holds_is_never_said_to_have_struck() -> None:
    job, driver = started(min_input_rms=1e6)
    job.step()
    driver.finish()
    assert job.events == []


def test_training_goes_on_where_the_element_does_not_exist() -> None:
    job, driver = started(element=10_000)
    job.step()
    job.step()
    driver.finish()
    [failed] = job.events
    assert isinstance(failed, FaultFailed)
    assert "allowed: 0..31" in failed.reason


def test_a_module_that_is_not_there_cannot_be_struck() -> None:
    job, _ = started(module="nothing")
    [failed] = job.events
    assert isinstance(failed, FaultFailed)
    assert "no module 'nothing'" in failed.reason
