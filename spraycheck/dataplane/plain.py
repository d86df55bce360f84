"""A leaf switch without SprayCheck: it sprays and delivers, and measures nothing.

The no-op of `LeafDataPlane`: what a fabric looks like before anybody turned detection
on, and the control of overhead measurements. Never marks, counts or reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spraycheck.dataplane.base import TOP_CLASS, Departure, Digest, Packet, Registers
from spraycheck.dataplane.spray import Sprayer
from spraycheck.report import ThresholdComputed
from vocab.graph import LeafSpine


@dataclass(slots=True)
class PlainLeaf:
    """One leaf switch."""

    leaf: int
    graph: LeafSpine
    sprayer: Sprayer

    def receive(
        self, packet: Packet, from_spine: int | None, now_ns: int
    ) -> Departure | None:
        """Deliver local packets, spray the others."""
        level = max(0, min(packet.priority, TOP_CLASS - 1))
        if packet.target_leaf == self.leaf:
            return Departure(packet=packet, spine=None, traffic_class=level)
        paths = self.graph.paths(self.leaf, packet.target_leaf)
        if from_spine is not None or not paths:
            return None
        spines = [path.spine for path in paths]
        return Departure(
            packet=replace(packet, marked=False),
            spine=self.sprayer.choose(spines, packet.num_bytes, level, now_ns),
            traffic_class=level,
        )

    def write_threshold(self, threshold: ThresholdComputed) -> None:
        """Nothing is compared here."""

    def read(self, dest_qp: int) -> Registers:
        """Nothing was counted."""
        none = self.graph.num_spines
        return Registers(
            counts=(0,) * none, failed=(False,) * none, is_over=False, overflowed=False
        )

    def clear(self, dest_qp: int) -> None:
        """There is nothing to forget."""

    def drain(self) -> tuple[Digest, ...]:
        """Nothing happens."""
        return ()
