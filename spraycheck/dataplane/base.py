"""What every data plane of a leaf switch does, as values and one Protocol.

Implemented by `model`, and by whatever runs the same pipeline on real packets. Called
by the agent of a leaf, which carries digests to `control` and thresholds back.

    host ─► receive ─► Departure to a spine, marked or not
    spine ─► receive ─► count, compare ─► Departure to the host
                             └─► drain(): AnnouncementSeen, LastPacketSeen ─► control
    control ─► write_threshold, read, clear
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spraycheck.announcement import Announcement
from spraycheck.report import ThresholdComputed

TOP_CLASS = 7  # reserved for the measured flow (SprayCheck "prioritization")
# Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 around a payload of 4096 (FACTS).
FULL_PACKET_BYTES = 4096 + 58


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """The header fields that a leaf switch looks at."""

    target_leaf: int  # by the route of the destination address
    dest_qp: int
    psn: int
    marked: bool = False
    priority: int = 0  # asked for by its sender, 0 lowest
    num_bytes: int = FULL_PACKET_BYTES
    announcement: Announcement | None = None  # None: data


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A packet as it leaves: to spine number `spine`, or to its host (None)."""

    packet: Packet
    spine: int | None
    traffic_class: int  # 0 .. TOP_CLASS; which queue of the port


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """What the data plane holds about one destination queue pair."""

    counts: tuple[int, ...]  # marked packets, by spine of the fabric
    failed: tuple[bool, ...]  # latched when the last packet was seen
    is_over: bool
    overflowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementSeen:
    """A flow to this leaf was announced; fixed-width fields, parsed in the switch."""

    announcement: Announcement


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPacketSeen:
    """The packet with the highest expected PSN arrived."""

    dest_qp: int


Digest = AnnouncementSeen | LastPacketSeen


class LeafDataPlane(Protocol):
    """One leaf switch, on both sides: it sprays its hosts' flows and counts others'."""

    def receive(
        self, packet: Packet, from_spine: int | None, now_ns: int
    ) -> Departure | None:
        """A packet came from a spine, or from a host (None). None: it has no route."""

    def write_threshold(self, threshold: ThresholdComputed) -> None:
        """Compare this queue pair's counters when its last packet arrives."""

    def read(self, dest_qp: int) -> Registers:
        """Registers of a queue pair; zeros where nothing was counted."""

    def clear(self, dest_qp: int) -> None:
        """Forget a queue pair; afterwards it is as if it had never been."""

    def drain(self) -> tuple[Digest, ...]:
        """What happened since the last call, oldest first."""
