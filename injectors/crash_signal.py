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

from injectors.dying import Deathbed, Obituary
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from vocab.events import Change


class CrashSignal(RankParameters):
    """Where and how it ends."""

    kind: Literal["crash.signal"]
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )
    signal: Literal["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS"] = Field(
        "SIGKILL", description="the signal; SIGKILL is that of the out-of-memory killer"
    )
    also_observer: bool = Field(
        False, description="kill the rank's child processes first, as a dead host does"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class KillSelf:
    """The rank's part: end at the wanted place of step `at_step`."""

    label = "Crash: signal"
    color = "#7b4173"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: CrashSignal, context: RankContext) -> None:
        self._parameters = parameters
        self._deathbed = Deathbed(
            context,
            kind=parameters.kind,
            layer=parameters.layer,
            manner=_manner(parameters),
            end=self._die,
        )

    def inject(self, step: int) -> tuple[Change, ...]:
        """Arm it for this step; the harness proves it."""
        self._deathbed.arm(step)
        return ()

    def heal(self, step: int) -> Healing:
        """Disarm what has not happened."""
        self._deathbed.disarm()
        return Healing(changes=())

    def _die(self) -> None:
        if self._parameters.also_observer:
            for child in _children():
                os.kill(child, signal.SIGKILL)
        os.kill(os.getpid(), signal.Signals[self._parameters.signal])
        threading.Event().wait()  # a fatal signal is delivered before this returns


class KillSelfProof(Obituary):
    """The harness's part."""

    label = KillSelf.label
    color = KillSelf.color

    def __init__(self, parameters: CrashSignal, context: HostContext) -> None:
        super().__init__(context, rank=parameters.rank)


def _manner(parameters: CrashSignal) -> str:
    also = ", its child processes with it" if parameters.also_observer else ""
    return f"{parameters.signal}{also}"


def _children() -> list[int]:
    """Processes that this one has started: here its observer."""
    lists = Path("/proc/self/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text().split()]
