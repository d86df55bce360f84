"""A frozen process: the rank stops itself, the harness proves it and ends it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from harness.processes import state_of
from injectors import hang_frozen
from injectors.errors import CannotInject
from injectors.fault import HostContext
from injectors.hang_frozen import FreezeSelf, HangFrozen, Thaw
from tests.injectors.small import Job
from vocab.events import FaultTriggered


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Signals that would have been sent."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(
        hang_frozen.os, "kill", lambda pid, number: sent.append((pid, number))
    )
    return sent


def parameters(**fields: Any) -> HangFrozen:
    return HangFrozen(**{"kind": "hang.frozen", "rank": 0, "at_step": 1, **fields})


@pytest.mark.parametrize(
    ("where", "detail"),
    [
        ("forward", "forward of blocks.1"),
        ("backward", "backward of blocks.1"),
        ("optimizer", "optimizer"),
    ],
)
def test_the_rank_stops_itself_once_at_its_place(
    where: str, detail: str, stops: list[tuple[int, int]]
) -> None:
    job = Job()
    freeze = FreezeSelf(parameters(where=where, layer=1), job.context())
    assert freeze.inject(4) == ()
    assert stops == []
    job.step()
    job.step()
    assert stops == [(os.getpid(), signal.SIGSTOP)]
    assert job.events == [
        FaultTriggered(fault_id="fault", kind="hang.frozen", step=4, detail=detail)
    ]


@pytest.mark.parametrize("where", ["forward", "backward", "optimizer"])
def test_a_freeze_that_is_healed_before_its_place_never_strikes(
    where: str, stops: list[tuple[int, int]]
) -> None:
    job = Job()
    freeze = FreezeSelf(parameters(where=where), job.context())
    freeze.inject(1)
    freeze.inject(1)
    freeze.heal(1)
    freeze.heal(1)
    job.step()
    assert (stops, job.events) == ([], [])


# --- the harness's part, on a real process ------------------------------------------


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def thaw(victim: subprocess.Popen[bytes], **fields: Any) -> Thaw:
    context = HostContext(
        send_signal=lambda rank, number: victim.send_signal(number),
        process_state=lambda rank: state_of(victim.pid),
    )
    return Thaw(parameters(**fields), context)


def test_a_stopped_process_is_proven_and_let_go(
    victim: subprocess.Popen[bytes],
) -> None:
    held = thaw(victim, duration_s=2.5)
    assert held.duration_s == 2.5
    victim.send_signal(signal.SIGSTOP)
    [change] = held.inject()
    assert (change.what, change.after) == ("process state of rank0", "T (stopped)")
    [healed] = held.heal().changes
    assert healed.before == "T"
    assert healed.after in "SRD"
    assert held.heal().changes[0].before in "SRD"
    assert state_of(victim.pid) in "SRD"


def test_a_process_that_does_not_stop_is_no_proof(
    victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hang_frozen, "_STATE_WAIT_S", 0.0)
    with pytest.raises(CannotInject, match="rank0 did not stop: state [SRD]"):
        thaw(victim).inject()


def test_a_process_that_is_gone_is_no_proof(
    victim: subprocess.Popen[bytes],
) -> None:
    victim.kill()
    victim.wait()
    held = thaw(victim)
    with pytest.raises(CannotInject, match="did not stop: state gone"):
        held.inject()
    assert held.heal().changes[0].after == "gone"
