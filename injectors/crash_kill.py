"""`crash.kill`: everything on a host ends at once, as at a power failure."""

from __future__ import annotations

from typing import Literal

from injectors.fault import Healing, HostContext
from injectors.host_fault import HostFaultParameters, OnHost
from vocab.events import Change


class CrashKill(HostFaultParameters):
    """Which host, by a rank of it."""

    kind: Literal["crash.kill"]


class KillHost:
    """The harness's part: SIGKILL by the engine."""

    label = "Crash: killed host"
    color = "#59323c"
    duration_s = 0.0

    def __init__(self, parameters: CrashKill, context: HostContext) -> None:
        self._host = OnHost(parameters, context)

    def inject(self) -> tuple[Change, ...]:
        """Kill, and see the engine say that it ended.

        Raises:
            CannotInject: the engine refuses.
        """
        host = self._host
        before = host.engine.state_of(host.rank)
        host.engine.kill(host.rank)
        return (host.change(before, host.await_state("exited")),)

    def heal(self) -> Healing:
        """Nothing brings it back."""
        state = self._host.engine.state_of(self._host.rank)
        change = self._host.change(state, state)
        return Healing(changes=(change,), residue="the host is gone")
