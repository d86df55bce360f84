"""`crash.signal`: a signal kills one rank, and its observer with it if wanted.

See `dying` for how it is proved.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Literal

from pydantic import Field

from injectors.dying import CrashParameters, Deathbed, Obituary
from injectors.fault import RankContext


class CrashSignal(CrashParameters):
    """Which signal kills it, and what dies with it."""

    kind: Literal["crash.signal"]
    signal: Literal["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS"] = Field(
        "SIGKILL", description="the signal; SIGKILL is that of the out-of-memory killer"
    )
    also_observer: bool = Field(
        False, description="kill the rank's child processes first, as a dead host does"
    )


class KillSelf(Deathbed):
    """The rank's part."""

    label = "Crash: signal"
    color = "#7b4173"

    def __init__(self, parameters: CrashSignal, context: RankContext) -> None:
        super().__init__(parameters, context)
        self._signal = signal.Signals[parameters.signal]
        self._also_observer = parameters.also_observer
        also = ", its child processes with it" if parameters.also_observer else ""
        self.manner = f"{parameters.signal}{also}"

    def die(self) -> None:
        """Send itself the signal."""
        if self._also_observer:
            for child in _children():
                os.kill(child, signal.SIGKILL)
        os.kill(os.getpid(), self._signal)
        threading.Event().wait()  # a fatal signal is delivered before this returns


class KillSelfProof(Obituary):
    """The harness's part."""

    label = KillSelf.label
    color = KillSelf.color


def _children() -> list[int]:
    """Processes that this one has started: here its observer."""
    lists = Path("/proc/self/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text().split()]
