"""`crash.oom`: a rank needs more memory than its host has; the kernel ends it.

rank: reaches step and layer -> FaultTriggered -> takes memory until it is killed
harness: the host's count of such kills rises, the process is gone -> FaultInjected
"""

from __future__ import annotations

import time
from typing import Literal

from pydantic import Field

from injectors.dying import CrashParameters, Deathbed
from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext
from injectors.host_fault import PROOF_S, OnHost
from vocab.events import Change

_CHUNK_BYTES = 16 << 20


class CrashOom(CrashParameters):
    """How much it takes at most; the host's limit should be below."""

    kind: Literal["crash.oom"]
    at_most_mib: int = Field(
        8192, ge=16, le=1_048_576, description="MiB that the rank takes at most"
    )


class EatMemory(Deathbed):
    """The rank's part: take and touch memory until the kernel says no."""

    label = "Crash: out of memory"
    color = "#8c2d04"
    manner = "out of memory"

    def __init__(self, parameters: CrashOom, context: object) -> None:
        super().__init__(parameters, context)  # type: ignore[arg-type]
        self._at_most = parameters.at_most_mib << 20
        self._is_in_container = getattr(context, "is_in_container", False)
        self._taken: list[bytearray] = []

    def die(self) -> None:
        """Take memory; on a machine without a limit of its own, take none."""
        if not self._is_in_container:
            return
        while len(self._taken) * _CHUNK_BYTES < self._at_most:
            self._taken.append(bytearray(_CHUNK_BYTES))
        self._taken.clear()


class OomProof:
    """The harness's part: the kernel's own count of kills in that host."""

    label = EatMemory.label
    color = EatMemory.color
    duration_s = 0.0

    def __init__(self, parameters: CrashOom, context: HostContext) -> None:
        self._host = OnHost(parameters, context)
        self._context = context

    def inject(self) -> tuple[Change, ...]:
        """Wait for the kill.

        Raises:
            CannotInject: nothing was killed for want of memory.
        """
        host = self._host
        deadline = time.monotonic() + PROOF_S
        while not (count := host.engine.num_oom_kills(host.rank)):
            if time.monotonic() > deadline:
                raise CannotInject(
                    f"{host.engine.name_of(host.rank)} ran out of no memory: its limit "
                    "is above at_most_mib"
                )
            time.sleep(0.02)
        return (host.change("0", str(count), "processes killed for want of memory"),)

    def heal(self) -> Healing:
        """Nothing brings it back."""
        state = self._context.process_state(self._host.rank)
        what = f"process of rank{self._host.rank}"
        return Healing(
            changes=(Change(what=what, before=state, after=state),),
            residue="the process is gone",
        )
