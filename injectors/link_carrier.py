"""`link.down`, `link.flap`, `spine.down`: links without carrier, and dead spines.

A link whose carrier is down leaves the routing: k shrinks, nothing is lost, and nobody
may be blamed for a gray failure (DESIGN sec. 7). A spine may also die unnoticed, with
its carriers up: then all its paths lose everything.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.fabric_effect import CarrierLost, FabricTrace, SpineDies
from injectors.fault import FabricParameters, Parameters
from injectors.link_loss import lost_of
from vocab.events import Change
from vocab.names import spine_name

WHOLE = r"^leaf(0|[1-9][0-9]*)-spine(0|[1-9][0-9]*)$"


class OfWholeLink(Parameters):
    """Which link, in both directions."""

    link: str = Field(pattern=WHOLE, description="link, such as leaf0-spine3")


class OfSpine(Parameters):
    """Which spine."""

    spine: int = Field(ge=0, description="number of the spine switch")


class LinkDown(FabricParameters, OfWholeLink):
    """The carrier of a link is down."""

    kind: Literal["link.down"]

    @property
    def targets(self) -> tuple[str, ...]:
        """The whole link."""
        return (self.link,)


class LinkFlap(FabricParameters, OfWholeLink):
    """The carrier of a link comes and goes."""

    kind: Literal["link.flap"]
    lifetime: Literal["persistent"] = "persistent"
    period_steps: int = Field(
        1, ge=1, le=1000, description="steps without carrier, then as many with it"
    )

    @property
    def targets(self) -> tuple[str, ...]:
        """The whole link."""
        return (self.link,)


class SpineDown(FabricParameters, OfSpine):
    """A spine switch is dead."""

    kind: Literal["spine.down"]
    unnoticed: bool = Field(
        False,
        description="its links keep their carrier, so that leaves go on to send there",
    )

    @property
    def targets(self) -> tuple[str, ...]:
        """The switch."""
        return (spine_name(self.spine),)


class NoCarrier:
    """One link without carrier, always or in turns."""

    label = "Carrier down"
    color = "#8c6d31"

    def __init__(self, parameters: LinkDown | LinkFlap) -> None:
        self._link = parameters.link
        self._first = parameters.at_step
        self._period = (
            parameters.period_steps if isinstance(parameters, LinkFlap) else None
        )

    def effect(self, step: int) -> CarrierLost | None:
        """The link leaves the routing; None in those turns of a flap where it is up."""
        if self._period and (step - self._first) // self._period % 2:
            return None
        return CarrierLost(links=(self._link,))

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Read back from the fabric's routing."""
        if self._link not in after.without_carrier:
            return ()
        was = before is not None and self._link in before.without_carrier
        return (
            Change(
                what=f"carrier of {self._link}",
                before="down" if was else "up",
                after="down",
            ),
        )


class DeadSpine:
    """One spine that forwards nothing."""

    label = "Spine down"
    color = "#843c39"

    def __init__(self, parameters: SpineDown) -> None:
        self._effect = SpineDies(spine=parameters.spine, is_routed=parameters.unnoticed)

    def effect(self, step: int) -> SpineDies:
        """The switch is dead."""
        return self._effect

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """Its links have no carrier, or lose what they carry."""
        suffix = f"-{spine_name(self._effect.spine)}"
        gone = sorted(link for link in after.without_carrier if link.endswith(suffix))
        if not self._effect.is_routed:
            return tuple(
                Change(what=f"carrier of {link}", before="up", after="down")
                for link in gone
            )
        return tuple(
            Change(
                what=f"packets lost by {link} in a step",
                before=lost_of(link, before),
                after=lost_of(link, after),
            )
            for link in sorted(after.lost)
            if link.partition(":")[0].endswith(suffix)
        )
