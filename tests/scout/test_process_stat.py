"""What is learned of a process that is not our child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from scout.process_stat import (
    GONE,
    UNKNOWN_EXIT,
    ExitStatus,
    ProcessWatch,
    read_stat,
    start_ticks,
)


def spawn(code: str = "import time; time.sleep(60)") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code])


def watch(process: subprocess.Popen[bytes]) -> ProcessWatch:
    ticks = start_ticks(process.pid)
    assert ticks is not None
    return ProcessWatch(process.pid, ticks).begin()


def end_with(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    process.wait()


def has_exit_info() -> bool:
    """Whether this kernel tells a process's exit status to others (Linux 6.15)."""
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1].split("-")[0])) >= (6, 15)


def test_a_living_process_has_a_state_and_no_end() -> None:
    process = spawn()
    watched = watch(process)
    assert watched.state() in "RSD"
    assert watched.exit_status() == UNKNOWN_EXIT
    assert watched.gone_s(time.monotonic_ns()) is None
    end_with(process, signal.SIGKILL)
    watched.close()


@pytest.mark.skipif(not has_exit_info(), reason="needs Linux 6.15 for exit info")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_killed_process_is_gone_with_its_signal(number: int) -> None:
    process = spawn()
    watched = watch(process)
    end_with(process, number)
    assert watched.state() == GONE
    assert watched.exit_status() == ExitStatus(exit_code=None, signal=number)
    gone_s = watched.gone_s(time.monotonic_ns())
    assert gone_s is not None
    assert gone_s >= 0
    watched.close()


def test_a_zombie_shows_its_exit_code() -> None:
    process = spawn("import time; time.sleep(0.2); raise SystemExit(3)")
    watched = watch(process)
    deadline = time.monotonic() + 10
    while watched.state() != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert watched.exit_status() == ExitStatus(exit_code=3, signal=None)
    process.wait()
    watched.close()


def test_a_later_process_of_the_same_pid_is_not_ours() -> None:
    process = spawn()
    ticks = start_ticks(process.pid)
    assert ticks is not None
    watched = ProcessWatch(process.pid, ticks - 1).begin()
    assert watched.pidfd is None
    assert watched.state() == GONE
    end_with(process, signal.SIGKILL)


def test_a_name_with_spaces_and_brackets_is_read_rightly() -> None:
    code = (
        "import sys, time\n"
        "open('/proc/self/comm', 'w').write('a) R 1 (b')\n"
        "print(flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    stat = read_stat(process.pid)
    assert stat is not None
    assert stat.ppid == os.getpid()
    end_with(process, signal.SIGKILL)
    process.stdout.close()


def test_no_process_has_no_state() -> None:
    process = spawn("pass")
    process.wait()
    assert read_stat(process.pid) is None
