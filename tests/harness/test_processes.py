"""Processes are found by their mark, and only those are ended."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from harness.processes import MARK, end, marked, state_of


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        ["sleep", "600"], env={**os.environ, MARK: "run-under-test"}
    )
    yield process
    process.kill()
    process.wait()


def test_a_marked_process_is_found_by_its_run(
    sleeper: subprocess.Popen[bytes],
) -> None:
    [found] = marked("run-under-test")
    assert (found.pid, found.run_id, found.name) == (
        sleeper.pid,
        "run-under-test",
        "sleep",
    )
    assert sleeper.pid in [process.pid for process in marked()]
    assert marked("another-run") == []


def test_only_processes_of_that_run_are_ended(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert end("another-run") == []
    assert sleeper.poll() is None
    assert [process.pid for process in end("run-under-test")] == [sleeper.pid]
    assert sleeper.wait(5) == -9


def test_this_process_is_never_found() -> None:
    assert os.getpid() not in [process.pid for process in marked()]


def test_the_state_of_a_process_that_is_gone_is_gone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert state_of(sleeper.pid) in "SRD"
    sleeper.kill()
    sleeper.wait()
    assert state_of(sleeper.pid) == "gone"
