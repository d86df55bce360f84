"""A real process under a duty cycle: it is stopped in turns, and runs when healed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.processes import state_of
from injectors.errors import CannotInject
from injectors.fault import HostContext
from injectors.straggler_throttle import DutyCycle, StragglerThrottle


@pytest.fixture
def spinning() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    yield process
    process.kill()
    process.wait()


def throttle(pid: int) -> DutyCycle:
    context = HostContext(
        send_signal=lambda _, number: os.kill(pid, number),
        process_state=lambda _: state_of(pid),
    )
    given = {"kind": "straggler.throttle", "rank": 2, "at_step": 1}
    return DutyCycle(StragglerThrottle.model_validate(given), context)


def test_it_is_seen_stopped_and_runs_after_the_heal(
    spinning: subprocess.Popen[bytes],
) -> None:
    fault = throttle(spinning.pid)
    [change] = fault.inject()
    assert change.what == "process state of rank2"
    assert change.after == "T (stopped) for 0.02 s of every 0.023 s"
    [healed] = fault.heal().changes
    assert healed.before.endswith("stops of 0.02 s")
    assert healed.after == "R"
    fault.heal()
    assert state_of(spinning.pid) == "R"


def test_a_process_that_never_stops_is_not_injected() -> None:
    context = HostContext(send_signal=lambda *_: None, process_state=lambda _: "gone")
    given = {"kind": "straggler.throttle", "rank": 2, "at_step": 1}
    fault = DutyCycle(StragglerThrottle.model_validate(given), context)
    began = time.monotonic()
    with pytest.raises(CannotInject, match="rank2 did not stop: state gone"):
        fault.inject()
    fault.heal()
    assert time.monotonic() - began < 4
