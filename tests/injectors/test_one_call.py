"""One call of a collective is changed and proves itself; later ones are as usual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist

from injectors.hang_extra_collective import ExtraCollective, HangExtraCollective
from injectors.hang_mismatched_collective import (
    HangMismatchedCollective,
    MismatchedCollective,
)
from injectors.hang_skipped_collective import HangSkippedCollective, SkippedCollective
from tests.injectors.small import Job
from vocab.events import FaultHealed, FaultInjected

Calls = list[tuple[str, Any]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What reaches the functions of `torch.distributed`, in place of a group."""
    seen: Calls = []

    def note(name: str) -> Callable[..., None]:
        def call(tensor: torch.Tensor, **kwargs: Any) -> None:
            seen.append((name, (tensor.dtype, tuple(tensor.shape), kwargs)))

        return call

    for name in ("all_reduce", "broadcast"):
        monkeypatch.setattr(dist, name, note(name))
    return seen


def struck(fault: Any) -> None:
    """Arm in step 5 and make the job's calls of three steps."""
    fault.inject(5)
    for _ in range(3):
        dist.all_reduce(torch.ones(1))
        dist.broadcast(torch.zeros(1, dtype=torch.int64), src=0)
    fault.heal(6)


USUAL = [
    ("all_reduce", (torch.float32, (1,), {})),
    ("broadcast", (torch.int64, (1,), {"src": 0})),
]


def test_a_skipped_call_is_left_out_once(calls: Calls) -> None:
    job = Job()
    parameters = HangSkippedCollective(
        kind="hang.skipped_collective", rank=2, at_step=5
    )
    struck(SkippedCollective(parameters, job.context(rank=2)))
    assert calls == [*USUAL, *USUAL, *USUAL][1:]
    injected, healed = job.events
    assert isinstance(injected, FaultInjected)
    assert isinstance(healed, FaultHealed)
    [change] = injected.changes
    assert (change.before, change.after) == (
        "all_reduce of float32 [1]", "no call at all",
    )  # fmt: skip
    assert injected.targets == ("rank2",)
    assert healed.residue


def test_an_extra_call_follows_the_usual_one(calls: Calls) -> None:
    parameters = HangExtraCollective(kind="hang.extra_collective", rank=0, at_step=5)
    struck(ExtraCollective(parameters, Job().context()))
    assert calls == [USUAL[0], *USUAL, *USUAL, *USUAL]


@pytest.mark.parametrize(
    ("fields", "at", "sent"),
    [
        ({"field": "op"}, 0, ("broadcast", (torch.float32, (1,), {"src": 3}))),
        ({"field": "shape"}, 0, ("all_reduce", (torch.float32, (2,), {}))),
        ({"field": "dtype"}, 0, ("all_reduce", (torch.int32, (1,), {}))),
        (
            {"field": "dtype", "dtype": "float64"},
            0,
            ("all_reduce", (torch.float64, (1,), {})),
        ),
        (
            {"field": "reduction"},
            0,
            ("all_reduce", (torch.float32, (1,), {"op": dist.ReduceOp.MAX})),
        ),
        ({"field": "root"}, 1, ("broadcast", (torch.int64, (1,), {"src": 3}))),
    ],
)
def test_a_mismatch_changes_one_field_of_one_call(
    calls: Calls, fields: dict[str, str], at: int, sent: tuple[str, Any]
) -> None:
    parameters = HangMismatchedCollective.model_validate(
        {"kind": "hang.mismatched_collective", "rank": 3, "at_step": 5, **fields}
    )
    struck(MismatchedCollective(parameters, Job().context(rank=3)))
    expected = [*USUAL, *USUAL, *USUAL]
    expected[at] = sent
    assert calls == expected


def test_calls_on_other_groups_are_let_through(calls: Calls) -> None:
    job = Job()
    parameters = HangSkippedCollective(
        kind="hang.skipped_collective", rank=0, at_step=5
    )
    fault = SkippedCollective(parameters, job.context())
    fault.inject(5)
    dist.all_reduce(torch.ones(1), group="diagnosis")
    assert len(calls) == 1
    assert job.events == []
    fault.heal(6)


def test_what_was_not_called_leaves_nothing_behind(calls: Calls) -> None:
    original = dist.all_reduce
    job = Job()
    parameters = HangExtraCollective(kind="hang.extra_collective", rank=0, at_step=5)
    fault = ExtraCollective(parameters, job.context())
    fault.inject(5)
    assert dist.all_reduce is not original
    fault.heal(6)
    fault.heal(6)
    assert dist.all_reduce is original
    assert job.events == []
