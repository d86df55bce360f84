"""Find and end the processes of a run by the mark in their environment (/proc).

Every process of a run is exec'ed with FAULTYARD_RUN_ID=<run id> and FAULTYARD_RUNS_ROOT
(the runs folder), which its children inherit. Only processes with that very mark are
ever signalled; runs of another folder are somebody else's.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "FAULTYARD_RUN_ID"
ROOT_MARK = "FAULTYARD_RUNS_ROOT"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedProcess:
    """A living process that belongs to a run."""

    pid: int
    run_id: str
    runs_root: str  # "" where it is not known
    name: str


def marked(run_id: str | None = None) -> list[MarkedProcess]:
    """Living processes of one run, or of any; never this process itself."""
    found = []
    for pid in _pids():
        marks = _marks_of(pid)
        owner = marks.get(MARK)
        if owner is None or pid == os.getpid() or run_id not in (None, owner):
            continue
        if state_of(pid) not in ("gone", "Z"):
            found.append(
                MarkedProcess(
                    pid=pid,
                    run_id=owner,
                    runs_root=marks.get(ROOT_MARK, ""),
                    name=_name_of(pid),
                )
            )
    return found


def end(run_id: str, *, wait_s: float = 5.0) -> list[MarkedProcess]:
    """Kill every process of a run but this one; returns those that were there."""
    ended: dict[int, MarkedProcess] = {}
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        living = marked(run_id)
        if not living:
            break
        for process in living:
            ended[process.pid] = process
            _kill(process)
        time.sleep(0.02)
    return list(ended.values())


def state_of(pid: int) -> str:
    """Letter of /proc/<pid>/stat, or `gone`."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return "gone"
    # The name in parentheses may hold spaces and parentheses: proc_pid_stat(5).
    return stat.rpartition(")")[2].split()[0]


def _kill(process: MarkedProcess) -> None:
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        # Looked at again behind the pidfd: a number may have a new owner by now.
        if _marks_of(process.pid).get(MARK) == process.run_id:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(pidfd)


def _pids() -> Iterator[int]:
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            yield int(entry.name)


def _marks_of(pid: int) -> dict[str, str]:
    try:
        environ = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # gone, or of another user
        return {}
    pairs = (item.partition(b"=") for item in environ.split(b"\0"))
    return {
        key.decode(): value.decode(errors="replace")
        for key, _, value in pairs
        if key in (MARK.encode(), ROOT_MARK.encode())
    }


def _name_of(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""
