"""`link.gray`, `.burst`, `.size`, `.blackhole`: a directed link loses packets.

The link keeps its carrier and stays in the routing: neither switch notices (SprayCheck
"gray failures"). One family: they differ in which packets are lost.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.fabric_effect import FabricTrace, LinkLoses
from injectors.fault import FabricParameters, Parameters
from vocab.events import Change

DIRECTED = r"^leaf(0|[1-9][0-9]*)-spine(0|[1-9][0-9]*):(up|down)$"


class OfLink(Parameters):
    """Which direction of which link."""

    link: str = Field(
        pattern=DIRECTED,
        description="directed link, such as leaf0-spine3:up (leaf to spine) or :down",
    )


class LosingLink(FabricParameters, OfLink):
    """What all four have."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The directed link."""
        return (self.link,)


class LinkGray(LosingLink):
    """Each packet is lost on its own."""

    kind: Literal["link.gray"]
    drop_frac: float = Field(
        0.01, gt=0, lt=1, description="fraction of all packets that are lost"
    )


class LinkBurst(LosingLink):
    """Losses follow each other (Gilbert 1960)."""

    kind: Literal["link.burst"]
    drop_frac: float = Field(
        0.01, gt=0, le=0.5, description="fraction of all packets that are lost"
    )
    mean_burst_pkts: float = Field(
        20.0, gt=1, le=10_000, description="mean length of a run of losses"
    )


class LinkSize(LosingLink):
    """Only large packets are lost, as with a wrong MTU or a weak line code."""

    kind: Literal["link.size"]
    drop_frac: float = Field(
        0.01, gt=0, lt=1, description="fraction of the large packets that are lost"
    )
    min_bytes: int = Field(
        2048, ge=1, le=65_535, description="smaller packets pass; bytes on the wire"
    )


class LinkBlackhole(LosingLink):
    """Everything is lost, and the switches go on to send there."""

    kind: Literal["link.blackhole"]


class LossyLink:
    """One directed link that loses packets."""

    label = "Lossy link"
    color = "#e6550d"

    def __init__(self, parameters: LosingLink) -> None:
        self._effect = effect_of(parameters)

    def effect(self, step: int) -> LinkLoses:
        """The loss."""
        return self._effect

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Packets that the link itself has lost in the step."""
        link = self._effect.link
        if not after.lost.get(link):
            return ()
        return (
            Change(
                what=f"packets lost by {link} in a step",
                before=lost_of(link, before),
                after=lost_of(link, after),
            ),
        )


def effect_of(parameters: LosingLink) -> LinkLoses:
    """The loss that parameters describe."""
    match parameters:
        case LinkBurst(link=link, drop_frac=drop_frac, mean_burst_pkts=mean):
            return LinkLoses(link=link, drop_frac=drop_frac, mean_burst_pkts=mean)
        case LinkSize(link=link, drop_frac=drop_frac, min_bytes=least):
            return LinkLoses(link=link, drop_frac=drop_frac, min_bytes=least)
        case LinkGray(link=link, drop_frac=drop_frac):
            return LinkLoses(link=link, drop_frac=drop_frac)
    return LinkLoses(link=parameters.link, drop_frac=1.0)


def lost_of(link: str, trace: FabricTrace | None) -> str:
    """`153 of 15234`, as the link itself counts."""
    if trace is None:
        return "nothing was sent yet"
    return f"{trace.lost.get(link, 0)} of {trace.carried.get(link, 0)}"
