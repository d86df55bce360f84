"""Faults that block the training thread prove it from beside, and let go of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from injectors.errors import CannotInject
from injectors.fault import RankContext
from injectors.hang_backward import BlockedBackward, HangBackward
from injectors.hang_deadlock import Deadlock, HangDeadlock
from injectors.hang_input import BlockedFetch, HangInput
from injectors.straggler_checkpoint import SlowSave, StragglerCheckpoint
from injectors.straggler_input import SlowFetch, StragglerInput
from tests.injectors.small import Job
from vocab.events import FaultHealed, FaultInjected

BRIEF = {"rank": 0, "at_step": 1, "duration_s": 0.01}


def with_data(job: Job) -> RankContext:
    """The job's context with a data set's hooks; `fetch` calls them."""
    return replace(job.context(), before_fetch=[])


def fetch(context: RankContext) -> None:
    for hook in list(context.before_fetch or ()):
        hook()


def backward(job: Job, context: RankContext) -> None:
    fault = BlockedBackward(HangBackward(kind="hang.backward", **BRIEF), context)
    fault.inject(1)
    job.step()


def deadlock(job: Job, context: RankContext) -> None:
    Deadlock(HangDeadlock(kind="hang.deadlock", **BRIEF), context).inject(1)


def blocked_fetch(job: Job, context: RankContext) -> None:
    BlockedFetch(HangInput(kind="hang.input", **BRIEF), context).inject(1)
    fetch(context)
    fetch(context)  # only one of them blocks


@pytest.mark.parametrize(
    ("strike", "held"),
    [
        (backward, "blocked (state S)"),
        (deadlock, "holds lock A, waits for B, whose holder waits for A"),
        (blocked_fetch, "blocked (state S)"),
    ],
)
def test_a_block_is_proved_while_it_lasts_and_ends(
    strike: Callable[[Job, RankContext], None], held: str
) -> None:
    job = Job()
    strike(job, with_data(job))
    wait_for(lambda: len(job.events) == 2)
    injected, healed = job.events
    assert isinstance(injected, FaultInjected)
    assert isinstance(healed, FaultHealed)
    assert [(c.before, c.after) for c in injected.changes] == [("running", held)]
    assert [(c.before, c.after) for c in healed.changes] == [(held, "running")]
    assert injected.targets == healed.targets == ("rank0",)


def test_a_slow_fetch_is_slow_until_it_is_healed() -> None:
    context = with_data(Job())
    parameters = StragglerInput(
        kind="straggler.input", rank=0, at_step=1, delay_s=0.001
    )
    fault = SlowFetch(parameters, context)
    [change] = fault.inject(1)
    fault.inject(2)
    fetch(context)
    fetch(context)
    assert change.after == "+0.001 s a fetch (0 delays so far)"
    [change] = fault.heal(3).changes
    assert change.after == "not delayed (2 delays so far)"
    assert context.before_fetch == []


def test_a_slow_save_is_slow_until_it_is_healed(monkeypatch: Any) -> None:
    import torch

    saved: list[object] = []
    monkeypatch.setattr(torch, "save", saved.append)
    original = torch.save
    parameters = StragglerCheckpoint(
        kind="straggler.checkpoint", rank=0, at_step=1, delay_s=0.001
    )
    fault = SlowSave(parameters, Job().context())
    fault.inject(1)
    torch.save("state")
    [change] = fault.heal(2).changes
    assert change.before == "+0.001 s a save (1 delays so far)"
    assert saved == ["state"]
    assert torch.save is original


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (BlockedFetch, HangInput(kind="hang.input", rank=0, at_step=1)),
        (SlowFetch, StragglerInput(kind="straggler.input", rank=0, at_step=1)),
    ],
)
def test_a_job_without_a_data_set_cannot_be_struck_there(
    make: Any, parameters: Any
) -> None:
    with pytest.raises(CannotInject, match="shows no data set"):
        make(parameters, Job().context())


def wait_for(is_so: Callable[[], bool]) -> None:
    """The witness is a thread of its own; joined by what it writes."""
    import threading

    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread.daemon:
            thread.join(timeout=5)
    assert is_so()
