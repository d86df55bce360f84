"""A crash is triggered in the rank and proved by the harness, which outlives it."""

from __future__ import annotations

import pytest

from injectors.crash_exception import CrashException, RaiseSelf, RaiseSelfProof
from injectors.crash_signal import CrashSignal, KillSelfProof
from injectors.errors import CannotInject
from injectors.fault import HostContext
from tests.injectors.small import Job
from vocab.events import Change, FaultTriggered

PARAMETERS = CrashException(
    kind="crash.exception", rank=0, at_step=1, layer=1, message="no memory"
)
SIGNAL = CrashSignal(kind="crash.signal", rank=2, at_step=1)


def host(*states: str) -> HostContext:
    """A rank that shows these states, one a look; the last one stays."""
    left = list(states)

    def look(rank: int) -> str:
        assert rank == 2
        return left.pop(0) if len(left) > 1 else left[0]

    return HostContext(send_signal=lambda *_: None, process_state=look)


def test_an_exception_strikes_where_it_said_and_only_there() -> None:
    job = Job()
    fault = RaiseSelf(PARAMETERS, job.context())
    job.step()
    assert fault.inject(2) == ()
    with pytest.raises(RuntimeError, match="no memory"):
        job.step()
    [event] = job.events
    assert isinstance(event, FaultTriggered)
    assert (event.step, event.detail) == (
        2, "an exception in the forward of blocks.1",
    )  # fmt: skip
    job.step()


def test_a_crash_that_was_disarmed_does_not_happen() -> None:
    job = Job()
    fault = RaiseSelf(PARAMETERS, job.context())
    fault.inject(1)
    fault.heal(1)
    fault.heal(1)
    job.step()
    assert job.events == []


@pytest.mark.parametrize("last", ["Z", "gone"])
def test_the_harness_proves_that_the_process_ended(last: str) -> None:
    proof = KillSelfProof(SIGNAL, host("R", "S", last))
    ended = Change(what="process of rank2", before="running", after="ended")
    assert proof.inject() == (ended,)
    assert proof.heal().residue == "the process is gone"
    assert proof.label == "Crash: signal"


def test_a_process_that_lives_on_was_not_struck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("injectors.dying._DEATH_WAIT_S", 0.0)
    with pytest.raises(CannotInject, match="rank2 did not die: state S"):
        KillSelfProof(SIGNAL, host("S")).inject()


def test_proof_and_fault_look_alike() -> None:
    assert (RaiseSelf.label, RaiseSelf.color) == (
        RaiseSelfProof.label,
        RaiseSelfProof.color,
    )
