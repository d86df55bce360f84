"""What the kernel says of another process: state, age, and how it ended (proc(5)).

A pid alone may name a later process, so everything here is tied to the start time.
Used by the observer, which is no parent of its trainer and learns the exit status from
a pidfd (Linux 6.15 or later; before that only while the process is a zombie).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

GONE = "gone"
ZOMBIES = ("Z", "X", "x")

# include/uapi/linux/pidfd.h: _IOWR(0xFF, 11, struct pidfd_info), 64 bytes at first
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_BYTES = 64
_PIDFD_INFO_EXIT = 1 << 3
_EXIT_CODE_OFFSET = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStat:
    """The fields of /proc/<pid>/stat that SCOUT needs."""

    state: str
    ppid: int
    start_ticks: int
    wait_status: int | None  # of a zombie; None: alive, or not shown to us


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a process ended: an exit code or a signal; both None where unknown."""

    exit_code: int | None
    signal: int | None


UNKNOWN_EXIT = ExitStatus(exit_code=None, signal=None)


def read_stat(pid: int) -> ProcessStat | None:
    """State of a process, or None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name may hold anything
    zombie = fields[0] in ZOMBIES
    return ProcessStat(
        state=fields[0],
        ppid=int(fields[1]),
        start_ticks=int(fields[19]),
        wait_status=int(fields[49]) if zombie else None,
    )


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None if there is none."""
    stat = read_stat(pid)
    return None if stat is None else stat.start_ticks


class ProcessWatch:
    """Watches one process, which `begin` must still find alive or a zombie."""

    def __init__(self, pid: int, start_ticks: int) -> None:
        self.pid = pid
        self.pidfd: int | None = None  # readable when the process ends
        self._start_ticks = start_ticks
        self._gone_ns: int | None = None
        self._exit = UNKNOWN_EXIT

    def begin(self) -> ProcessWatch:
        """Hold on to the process, so that its end and exit status are not missed."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except OSError:
            return self  # gone already, or a kernel without pidfds
        if start_ticks(self.pid) == self._start_ticks:
            self.pidfd = pidfd
        else:
            os.close(pidfd)
        return self

    def state(self) -> str:
        """Letter of /proc/<pid>/stat, or `gone`."""
        stat = read_stat(self.pid)
        if stat is None or stat.start_ticks != self._start_ticks:
            self._note_end(None)
            return GONE
        if stat.state in ZOMBIES:
            self._note_end(stat.wait_status)
        return stat.state

    def exit_status(self) -> ExitStatus:
        """How it ended, as far as it can be known."""
        if self._exit == UNKNOWN_EXIT and self.pidfd is not None:
            self._exit = _decode(_pidfd_wait_status(self.pidfd))
        return self._exit

    def gone_s(self, now_ns: int) -> float | None:
        """Seconds since its end was first seen; None while it lives."""
        return None if self._gone_ns is None else (now_ns - self._gone_ns) / 1e9

    def close(self) -> None:
        """Let go of the process."""
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def _note_end(self, wait_status: int | None) -> None:
        if self._gone_ns is None:
            self._gone_ns = time.monotonic_ns()
        if wait_status is not None and self._exit == UNKNOWN_EXIT:
            self._exit = _decode(wait_status)


def _pidfd_wait_status(pidfd: int) -> int | None:
    info = bytearray(_PIDFD_INFO_BYTES)
    struct.pack_into("=Q", info, 0, _PIDFD_INFO_EXIT)
    with contextlib.suppress(OSError):  # an older kernel: not known
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
        if struct.unpack_from("=Q", info, 0)[0] & _PIDFD_INFO_EXIT:
            return int(struct.unpack_from("=i", info, _EXIT_CODE_OFFSET)[0])
    return None


def _decode(wait_status: int | None) -> ExitStatus:
    if wait_status is None:
        return UNKNOWN_EXIT
    if os.WIFSIGNALED(wait_status):
        return ExitStatus(exit_code=None, signal=os.WTERMSIG(wait_status))
    return ExitStatus(exit_code=os.WEXITSTATUS(wait_status), signal=None)
