"""`hang.pause`: a whole host freezes, its observers too, as a virtual machine may."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.fault import Healing, HostContext
from injectors.host_fault import HostFaultParameters, OnHost
from vocab.events import Change


class HangPause(HostFaultParameters):
    """Which host, by a rank of it, and for how long."""

    kind: Literal["hang.pause"]
    duration_s: float = Field(
        8.0, gt=0, le=3600, description="seconds until the host goes on"
    )


class PauseHost:
    """The harness's part: pause and unpause by the engine."""

    label = "Hang: paused host"
    color = "#4e79a7"

    def __init__(self, parameters: HangPause, context: HostContext) -> None:
        self.duration_s = parameters.duration_s
        self._host = OnHost(parameters, context)

    def inject(self) -> tuple[Change, ...]:
        """Pause, and see the engine say so.

        Raises:
            CannotInject: the engine refuses.
        """
        host = self._host
        before = host.engine.state_of(host.rank)
        host.engine.pause(host.rank)
        return (host.change(before, host.await_state("paused")),)

    def heal(self) -> Healing:
        """Unpause."""
        host = self._host
        before = host.engine.state_of(host.rank)
        host.engine.unpause(host.rank)
        after = host.engine.state_of(host.rank)
        return Healing(changes=(host.change(before, after),))
