"""`hang.equal_progress`: one rank's transport stops while every rank goes on to wait.

gloo moves bytes in threads of its own. They are paused, not the training thread: it
enters and publishes its next collective like all others, and then nothing arrives. All
ranks stand at the same place, and nobody can be named from their progress.

    training thread: arms at the step's start -> goes on into its collective
    gloo's threads:  signal -> handler `pause()` ... another signal -> go on

Both handlers are plain C functions that may run in a signal handler, see
signal-safety(7), so no Python runs in a foreign thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from pathlib import Path
from typing import Literal

from pydantic import Field

from injectors.blockade import Witness
from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change

_PAUSE = signal.SIGRTMIN + 5
_GO_ON = signal.SIGRTMIN + 6
_GLOO_THREAD = "gloo_tcp_loop"  # as gloo names it


class HangEqualProgress(RankParameters):
    """The step in which the transport stops, and for how long."""

    kind: Literal["hang.equal_progress"]
    duration_s: float = Field(
        5.0, gt=0, le=3600, description="seconds until the transport goes on"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class PausedTransport:
    """The fault at work in its rank."""

    label = "Hang: stalled transport"
    color = "#637939"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangEqualProgress, context: RankContext) -> None:
        self._witness = Witness(
            context,
            kind=parameters.kind,
            label=self.label,
            color=self.color,
            duration_s=parameters.duration_s,
        )
        self._paused: tuple[int, ...] = ()
        self._is_let_go = False

    def inject(self, step: int) -> tuple[Change, ...]:
        """Pause gloo's threads; the witness proves it and lets them go.

        Raises:
            CannotInject: this process has no such thread.
        """
        if self._paused:
            return ()
        threads = transport_threads()
        if not threads:
            raise CannotInject("no thread of this process waits for a socket of gloo")
        libc = ctypes.CDLL(None)
        libc.signal(_GO_ON, ctypes.cast(libc.getpid, ctypes.c_void_p))
        libc.signal(_PAUSE, ctypes.cast(libc.pause, ctypes.c_void_p))
        self._paused = threads
        self._send(_PAUSE)
        threading.Thread(
            target=self._witness.watch,
            args=(step, f"its next collective of step {step}"),
            kwargs={"state": self._state, "let_go": self._let_go},
            daemon=True,
        ).start()
        return ()

    def heal(self, step: int) -> Healing:
        """Let go what is still paused: the step is over or the run ends."""
        self._let_go()
        return Healing(changes=())

    def _let_go(self) -> None:
        # Once, and also where the kernel hides in what its threads wait.
        if self._paused and not self._is_let_go:
            self._is_let_go = True
            self._send(_GO_ON)

    def _send(self, number: int) -> None:
        for thread in self._paused:
            libc = ctypes.CDLL(None)
            libc.tgkill(os.getpid(), thread, number)

    def _state(self) -> str:
        count = sum("pause" in _read(thread, "wchan") for thread in self._paused)
        return f"{count} transport threads paused" if count else ""


def transport_threads() -> tuple[int, ...]:
    """Threads of this process in which gloo moves bytes."""
    tasks = sorted(int(path.name) for path in Path("/proc/self/task").iterdir())
    return tuple(task for task in tasks if _read(task, "comm") == _GLOO_THREAD)


def _read(thread: int, name: str) -> str:
    try:
        return Path(f"/proc/self/task/{thread}/{name}").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""
