"""One slow layer: the pass really takes longer, and only while it is struck."""

from __future__ import annotations

from typing import Any

import pytest

from injectors import straggler_compute
from injectors.straggler_compute import StragglerCompute, StragglerComputeFault
from tests.injectors.small import Job


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """Delays (seconds, how many steps were done) instead of real sleeps."""
    taken: list[tuple[float, int]] = []
    monkeypatch.setattr(
        straggler_compute.time, "sleep", lambda delay: taken.append((delay, 0))
    )
    return taken


def fault(job: Job, **fields: Any) -> StragglerComputeFault:
    given = {"kind": "straggler.compute", "rank": 0, "at_step": 1, **fields}
    return StragglerComputeFault(StragglerCompute(**given), job.context())


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_each_pass_of_the_layer_is_delayed_once(
    where: str, naps: list[tuple[float, int]]
) -> None:
    job = Job()
    slow = fault(job, where=where, delay_s=0.25, layer=1)
    job.step()
    assert naps == []
    [change] = slow.inject(2)
    assert change.what == f"blocks.1.{where}"
    assert (change.before, change.after) == (
        "not delayed (0 delays so far)",
        "+0.25 s a pass (0 delays so far)",
    )
    job.step()
    job.step()
    assert [delay for delay, _ in naps] == [0.25, 0.25]
    healing = slow.heal(3)
    job.step()
    assert len(naps) == 2
    assert healing.changes[0].after == "not delayed (2 delays so far)"


def test_inject_and_heal_are_idempotent(naps: list[tuple[float, int]]) -> None:
    job = Job()
    slow = fault(job, layer=0)
    slow.inject(1)
    slow.inject(1)
    job.step()
    assert len(naps) == 1
    slow.heal(1)
    slow.heal(1)
    job.step()
    assert len(naps) == 1


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_training_itself_is_unchanged(
    where: str, naps: list[tuple[float, int]]
) -> None:
    plain, slowed = Job(), Job()
    fault(slowed, where=where).inject(1)
    for _ in range(3):
        plain.step()
        slowed.step()
    assert naps
    assert slowed.differing(plain.weights()) == []


def test_a_backward_delay_does_not_delay_the_forward_pass(
    naps: list[tuple[float, int]],
) -> None:
    import torch

    job = Job()
    fault(job, where="backward", layer=2).inject(1)
    loss = job.model(torch.ones(1, 4)).sum()
    assert naps == []
    loss.backward()
    assert len(naps) == 1
