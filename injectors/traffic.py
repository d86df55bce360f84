"""`traffic.competing`, `traffic.spoofed_marks`, `host.loss`: no spine link is at fault.

Controls of SprayCheck ("prioritization", "security"): congestion, a host that speaks
for the measured flow, and losses between a host and its leaf. Nobody may be blamed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.fabric_effect import Competes, FabricTrace, HostLoses, SpoofsMarks
from injectors.fault import FabricParameters, Parameters
from vocab.events import Change
from vocab.names import host_name, leaf_name


class OfLeafPair(Parameters):
    """From which leaf to which."""

    source_leaf: int = Field(ge=0, description="leaf that the packets come from")
    target_leaf: int = Field(ge=0, description="leaf that they go to; another one")


class BetweenLeaves(FabricParameters, OfLeafPair):
    """Traffic of others between two leaves."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Both leaves."""
        return (leaf_name(self.source_leaf), leaf_name(self.target_leaf))


class TrafficCompeting(BetweenLeaves):
    """Another job's flow over the same links."""

    kind: Literal["traffic.competing"]
    load_frac: float = Field(
        0.5, gt=0, le=1, description="rate of it, of all uplinks of the source leaf"
    )


class TrafficSpoofedMarks(BetweenLeaves):
    """Packets that carry the mark of the measured flow and are none of it."""

    kind: Literal["traffic.spoofed_marks"]
    num_packets: int = Field(
        2000, ge=1, le=100_000, description="spoofed packets of each step"
    )


class OfHost(Parameters):
    """Which host."""

    host: int = Field(ge=0, description="number of the host")


class HostLoss(FabricParameters, OfHost):
    """The link between a host and its leaf loses packets."""

    kind: Literal["host.loss"]
    direction: Literal["up", "down"] = Field(
        "down", description="up: host to leaf; down: leaf to host"
    )
    drop_frac: float = Field(
        0.01, gt=0, lt=1, description="fraction of the packets that are lost"
    )

    @property
    def targets(self) -> tuple[str, ...]:
        """The host."""
        return (host_name(self.host),)


class CompetingFlow:
    """Congestion: queues fill, and nobody is at fault."""

    label = "Control: competing flow"
    color = "#969696"

    def __init__(self, parameters: TrafficCompeting) -> None:
        self._effect = Competes(
            source_leaf=parameters.source_leaf,
            target_leaf=parameters.target_leaf,
            load_frac=parameters.load_frac,
        )

    def effect(self, step: int) -> Competes:
        """The flow."""
        return self._effect

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Packets of others that arrived."""
        return _change("packets of other jobs", _get(before, "competing"),
                       after.competing)  # fmt: skip


class SpoofedMarks:
    """The leaf strips marks that it did not set itself."""

    label = "Control: spoofed marks"
    color = "#969696"

    def __init__(self, parameters: TrafficSpoofedMarks) -> None:
        self._effect = SpoofsMarks(
            source_leaf=parameters.source_leaf,
            target_leaf=parameters.target_leaf,
            num_packets=parameters.num_packets,
        )

    def effect(self, step: int) -> SpoofsMarks:
        """The packets."""
        return self._effect

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Packets that were sent with a mark that is not theirs."""
        return _change("spoofed packets", _get(before, "spoofed_sent"),
                       after.spoofed_sent)  # fmt: skip


class LossyHostLink:
    """Lost before the first or behind the last switch."""

    label = "Control: lossy host link"
    color = "#969696"

    def __init__(self, parameters: HostLoss) -> None:
        self._name = f"{host_name(parameters.host)}:{parameters.direction}"
        self._effect = HostLoses(
            host=parameters.host,
            direction=parameters.direction,
            drop_frac=parameters.drop_frac,
        )

    def effect(self, step: int) -> HostLoses:
        """The loss."""
        return self._effect

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Packets that had to be sent again for it."""
        was = None if before is None else before.lost_at_hosts.get(self._name, 0)
        return _change(f"packets lost at {self._name}", was,
                       after.lost_at_hosts.get(self._name, 0))  # fmt: skip


def _get(trace: FabricTrace | None, name: str) -> int | None:
    return None if trace is None else int(getattr(trace, name))


def _change(what: str, before: int | None, after: int) -> tuple[Change, ...]:
    if not after:
        return ()
    was = "nothing was sent yet" if before is None else str(before)
    return (Change(what=f"{what} in a step", before=was, after=str(after)),)
