"""Gradients go wrong before and after their reduction, with proof and with residue."""

from __future__ import annotations

from typing import Any

import torch

from injectors.rank_driver import RankDriver
from injectors.sdc_gradient import SdcGradient
from tests.injectors.small import Job
from vocab.events import FaultHealed, FaultInjected

NAME = "blocks.1.first.weight"


def drive(steps: int = 5, **fields: Any) -> tuple[Job, list[torch.Tensor]]:
    """A job under the fault, and the gradient that each of its updates read."""
    job = Job()
    given = {
        "kind": "sdc.gradient",
        "rank": 0,
        "at_step": 2,
        "until_step": 3,
        "parameter": NAME,
        "element": 5,
        "pattern": "set",
        "value": 1.5,
    }
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    fault = SdcGradient(**{**given, **fields})
    driver.attach([("a", fault)], job.model, job.optimizer, job.layers)
    seen: list[torch.Tensor] = []
    parameter = job.model.get_parameter(NAME)
    job.optimizer.register_step_pre_hook(
        lambda *_: seen.append(parameter.grad.detach().clone())
    )
    for _ in range(steps):
        job.step()
    driver.finish()
    return job, seen


def struck_steps(seen: list[torch.Tensor]) -> list[int]:
    return [i for i, g in enumerate(seen, start=1) if float(g.view(-1)[5]) == 1.5]


def test_it_is_wrong_in_its_window_and_only_there() -> None:
    for where in ("before", "after"):
        job, seen = drive(where=where)
        assert struck_steps(seen) == [2, 3]
        injected, healed = job.events
        assert isinstance(injected, FaultInjected)
        assert injected.step == 2
        assert injected.changes[0].what == f"{NAME}.grad[5] set to 1.5"
        assert isinstance(healed, FaultHealed)
        assert healed.num_strikes == 2


def test_a_one_shot_strikes_one_gradient() -> None:
    for where in ("before", "after"):
        job, seen = drive(where=where, lifetime="one-shot", until_step=None)
        assert struck_steps(seen) == [2]
        assert isinstance(job.events[1], FaultHealed)
        assert job.events[1].num_strikes == 1


def test_only_after_the_reduction_it_leaves_a_residue_of_its_own() -> None:
    residues = {}
    for where in ("before", "after"):
        healed = drive(where=where)[0].events[1]
        assert isinstance(healed, FaultHealed)
        residues[where] = healed.residue
    assert residues == {
        "before": "",
        "after": f"{NAME} was updated with {NAME}.grad[5]",
    }


def test_a_replayed_backward_pass_meets_it_and_live_gradients_do_not_change() -> None:
    job = Job()
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    fault = SdcGradient(
        kind="sdc.gradient", rank=0, at_step=1, parameter=NAME, element=0,
        pattern="nan",
    )  # fmt: skip
    driver.attach([("a", fault)], job.model, job.optimizer, job.layers)
    job.step()
    block = job.model.blocks[1]
    parameter = job.model.get_parameter(NAME)
    loss = block(torch.randn(2, 4)).sum()
    [gradient] = torch.autograd.grad(loss, [parameter])
    assert gradient.isnan().sum() == 1
    assert parameter.grad is None
