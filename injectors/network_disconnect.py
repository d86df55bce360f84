"""`network.disconnect`: a host is off the management network; its ranks train on.

Observers of other hosts reach nobody there. What is not heard is missing, and nobody
may be blamed for it: collectives go over another network.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.fault import Healing, HostContext
from injectors.host_fault import HostFaultParameters, OnHost
from vocab.events import Change


class NetworkDisconnect(HostFaultParameters):
    """Which host, by a rank of it, and for how long."""

    kind: Literal["network.disconnect"]
    duration_s: float = Field(
        5.0, gt=0, le=3600, description="seconds until the host is on it again"
    )


class DisconnectHost:
    """The harness's part: disconnect and connect by the engine."""

    label = "Network: management off"
    color = "#bab0ab"

    def __init__(self, parameters: NetworkDisconnect, context: HostContext) -> None:
        self.duration_s = parameters.duration_s
        self._host = OnHost(parameters, context)

    def inject(self) -> tuple[Change, ...]:
        """Take it off.

        Raises:
            CannotInject: the engine refuses.
        """
        host = self._host
        before = host.engine.networks_of(host.rank)
        host.engine.disconnect(host.rank)
        after = host.engine.networks_of(host.rank)
        return (host.change(before, after, "networks"),)

    def heal(self) -> Healing:
        """Put it back."""
        host = self._host
        before = host.engine.networks_of(host.rank)
        host.engine.reconnect(host.rank)
        after = host.engine.networks_of(host.rank)
        return Healing(changes=(host.change(before, after, "networks"),))
