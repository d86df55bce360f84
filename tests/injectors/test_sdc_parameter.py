"""One bit of one parameter: struck, proven, given back exactly."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from injectors.errors import CannotInject
from injectors.sdc_parameter import SdcParameter, SdcParameterFault
from tests.injectors.small import Job


def fault(job: Job, **fields: Any) -> SdcParameterFault:
    given = {"kind": "sdc.parameter", "rank": 0, "at_step": 1, **fields}
    return SdcParameterFault(SdcParameter(**given), job.context())


def test_exactly_one_bit_of_one_element_differs() -> None:
    job = Job()
    before = job.weights()
    [change] = fault(job, parameter="head.weight", element=3, stuck_bit=31).inject(1)
    assert job.differing(before) == ["head.weight"]
    now = job.weights()["head.weight"]
    assert now.view(-1)[3] == -before["head.weight"].view(-1)[3]
    assert (now != before["head.weight"]).sum() == 1
    assert change.what == "head.weight[3] bit 31"
    assert int(change.before.split()[0], 16) ^ int(change.after.split()[0], 16) == (
        1 << 31
    )


@pytest.mark.parametrize("bit", [0, 7, 22, 23, 30, 31])
def test_heal_gives_every_bit_back(bit: int) -> None:
    job = Job()
    before = job.weights()
    struck = fault(job, stuck_bit=bit)
    struck.inject(1)
    assert len(job.differing(before)) == 1 or bit == 30  # NaN is unequal to itself
    healing = struck.heal(1)
    assert job.differing(before) == []
    assert healing.residue == ""


def test_inject_and_heal_are_idempotent() -> None:
    job = Job()
    before = job.weights()
    struck = fault(job)
    struck.inject(1)
    once = job.weights()
    struck.inject(1)
    assert job.differing(once) == []
    struck.heal(1)
    struck.heal(1)
    assert job.differing(before) == []


def test_a_persistent_bit_is_stuck_at_the_complement_of_the_healthy_one() -> None:
    job = Job()
    struck = fault(job, parameter="head.bias", element=0, stuck_bit=20)
    healthy = []
    for step in (1, 2, 3):
        struck.inject(step)
        wrong = job.model.head.bias.detach()[0].view(torch.int32).item()
        struck.heal(step)
        right = job.model.head.bias.detach()[0].view(torch.int32).item()
        assert wrong == right ^ (1 << 20)
        healthy.append(right)
        job.step()
    assert len(set(healthy)) == 3  # the parameter really trains meanwhile


def test_a_single_flip_stays_and_is_called_residue() -> None:
    job = Job()
    before = job.weights()
    struck = fault(job, lifetime="one-shot", parameter="head.bias", element=1)
    struck.inject(1)
    healing = struck.heal(1)
    assert job.differing(before) == ["head.bias"]
    assert healing.residue == "head.bias[1] stays changed"
    assert struck.heal(2).residue == ""


def test_the_target_is_drawn_from_the_seed() -> None:
    changes = [fault(Job(seed=seed)).inject(1)[0].what for seed in (1, 1, 2, 3, 4)]
    assert changes[0] == changes[1]
    assert len(set(changes)) > 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parameter": "nothing"}, "no parameter 'nothing'"),
        ({"parameter": "head.bias", "element": 2}, r"allowed: 0\.\.1"),
        ({"parameter": "head.bias", "stuck_bit": 32}, r"float32; allowed: 0\.\.31"),
    ],
)
def test_a_target_that_is_not_there_cannot_be_struck(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(CannotInject, match=words):
        fault(Job(), **fields)
