"""Pause the threads in which gloo moves bytes, and let them go on.

    signal -> handler `pause()` in each of them ... another signal -> they go on

Both handlers are plain C functions that may run in a signal handler, see
signal-safety(7), so no Python runs in a foreign thread. Shared by the faults that act
inside a collective; the training thread is never touched.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

from injectors.errors import CannotInject

_PAUSE = signal.SIGRTMIN + 5
_GO_ON = signal.SIGRTMIN + 6
_GLOO_THREAD = "gloo_tcp_loop"  # as gloo names it


class Transport:
    """The transport threads of this process."""

    def __init__(self) -> None:
        self._paused: tuple[int, ...] = ()

    @property
    def is_paused(self) -> bool:
        """Whether `pause` was called, at any time."""
        return bool(self._paused)

    def pause(self) -> None:
        """Pause every one of them.

        Raises:
            CannotInject: this process has no such thread.
        """
        threads = transport_threads()
        if not threads:
            raise CannotInject("no thread of this process waits for a socket of gloo")
        libc = ctypes.CDLL(None)
        libc.signal(_GO_ON, ctypes.cast(libc.getpid, ctypes.c_void_p))
        libc.signal(_PAUSE, ctypes.cast(libc.pause, ctypes.c_void_p))
        self._paused = threads
        self._send(_PAUSE)

    def go_on(self) -> None:
        """Let them go on."""
        self._send(_GO_ON)

    def num_paused(self) -> int:
        """How many the kernel says are paused; 0 where it hides it."""
        return sum("pause" in _read(thread, "wchan") for thread in self._paused)

    def _send(self, number: int) -> None:
        libc = ctypes.CDLL(None)
        for thread in self._paused:
            libc.tgkill(os.getpid(), thread, number)


def transport_threads() -> tuple[int, ...]:
    """Threads of this process in which gloo moves bytes."""
    tasks = sorted(int(path.name) for path in Path("/proc/self/task").iterdir())
    return tuple(task for task in tasks if _read(task, "comm") == _GLOO_THREAD)


def _read(thread: int, name: str) -> str:
    try:
        return Path(f"/proc/self/task/{thread}/{name}").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""
