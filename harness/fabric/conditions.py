"""What is wrong with the fabric in one step, as the simulator wants it. Pure.

    Effect, Effect, ... ─► Conditions: graph (routing), losses, competing flows, ...

Called by `player`. Injectors describe faults in words of their own, because they know
no simulator; this is where the two meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from injectors.fabric_effect import (
    CarrierLost,
    Competes,
    Effect,
    HostLoses,
    LinkLoses,
    SpineDies,
    SpoofsMarks,
)
from spraycheck.simulator import LinkLoss
from vocab.graph import LeafSpine
from vocab.names import Direction, Link, parse_link


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """One step's fabric."""

    graph: LeafSpine  # without the links that have no carrier
    losses: tuple[LinkLoss, ...] = ()
    competing: tuple[Competes, ...] = ()
    host_losses: tuple[HostLoses, ...] = ()
    spoofed: tuple[SpoofsMarks, ...] = ()
    without_carrier: frozenset[Link] = frozenset()  # by a fault; not disabled before

    @property
    def cost_time(self) -> bool:
        """Whether packets may take longer than on the fabric without a fault."""
        return bool(
            self.losses or self.competing or self.host_losses or self.without_carrier
        )


def conditions(graph: LeafSpine, effects: Sequence[Effect]) -> Conditions:
    """Put the effects of a step together."""
    down = frozenset(link for item in effects for link in _without_carrier(graph, item))
    left = replace(graph, disabled=graph.disabled | down)
    losses = [
        loss
        for item in effects
        for loss in _losses(graph, item)
        if Link(loss.link.leaf, loss.link.spine) not in left.disabled
    ]
    return Conditions(
        graph=left,
        losses=tuple({loss.link: loss for loss in losses}.values()),
        competing=tuple(item for item in effects if isinstance(item, Competes)),
        host_losses=tuple(item for item in effects if isinstance(item, HostLoses)),
        spoofed=tuple(item for item in effects if isinstance(item, SpoofsMarks)),
        without_carrier=down,
    )


def _without_carrier(graph: LeafSpine, effect: Effect) -> tuple[Link, ...]:
    match effect:
        case CarrierLost(links=names):
            return tuple(parse_link(name) for name in names)
        case SpineDies(spine=spine, is_routed=False):
            return tuple(Link(leaf, spine) for leaf in range(graph.num_leaves))
    return ()


def _losses(graph: LeafSpine, effect: Effect) -> tuple[LinkLoss, ...]:
    match effect:
        case LinkLoses():
            return (
                LinkLoss(
                    link=parse_link(effect.link),
                    drop_frac=effect.drop_frac,
                    mean_burst_pkts=effect.mean_burst_pkts,
                    min_bytes=effect.min_bytes,
                ),
            )
        case SpineDies(spine=spine, is_routed=True):
            # What reaches it is lost; nothing comes down from it.
            return tuple(
                LinkLoss(link=Link(leaf, spine, Direction.UP), drop_frac=1.0)
                for leaf in range(graph.num_leaves)
            )
    return ()
