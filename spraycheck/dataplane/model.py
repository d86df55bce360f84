"""Executable specification of the leaf switch (SprayCheck "data plane").

No I/O; time and randomness are handed in. Other data planes must give the same counts
and marks for the same packets; the simulator is checked against it. Packet order:

    from a host   strip a spoofed mark · stamp and select announced flows · mark and
                  prioritise the selected flow · spray
    from a spine  digest announcements · count marked packets by (QP, spine) · compare
                  at the last PSN · deliver

Two differences from the paper, both on purpose. It keeps counting after the last PSN
until the controller clears the queue pair, so that the controller can tell a flow
announced too long from loss; the failed bitmap is latched at the last PSN. And the last
PSN is looked for in unmarked packets too, for its retransmission may be one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spraycheck.dataplane.base import (
    TOP_CLASS,
    AnnouncementSeen,
    Departure,
    Digest,
    LastPacketSeen,
    Packet,
    Registers,
)
from spraycheck.dataplane.spray import Sprayer
from spraycheck.errors import ReportError
from spraycheck.psn import psn_distance
from spraycheck.report import ThresholdComputed
from spraycheck.selection import FlowSelector
from vocab.graph import LeafSpine


@dataclass(slots=True)
class _PairState:
    counts: list[int]
    threshold: ThresholdComputed | None = None
    failed: tuple[bool, ...] = ()
    newest_psn: int | None = None  # None: no packet yet
    is_over: bool = False
    overflowed: bool = False


@dataclass(slots=True)
class ModelLeaf:
    """One leaf switch."""

    leaf: int
    graph: LeafSpine
    sprayer: Sprayer
    counter_bits: int = 32
    selector: FlowSelector = field(init=False)
    _measured_last_psn: int | None = None  # None: wait for the next announcement
    _pairs: dict[int, _PairState] = field(default_factory=dict)
    _digests: list[Digest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.selector = FlowSelector(leaf=self.leaf, num_leaves=self.graph.num_leaves)

    def receive(
        self, packet: Packet, from_spine: int | None, now_ns: int
    ) -> Departure | None:
        """See `LeafDataPlane.receive`.

        Raises:
            ReportError: there is no such spine.
        """
        if from_spine is None:
            return self._from_host(packet, now_ns)
        if not 0 <= from_spine < self.graph.num_spines:
            raise ReportError(
                f"spine{from_spine} is not in the fabric; "
                f"allowed: spine0..spine{self.graph.num_spines - 1}"
            )
        return self._from_spine(packet, from_spine)

    def write_threshold(self, threshold: ThresholdComputed) -> None:
        """See `LeafDataPlane`; the last packet may have passed already."""
        pair = self._pair(threshold.dest_qp)
        pair.threshold = threshold
        if pair.newest_psn is not None:
            reached = psn_distance(threshold.last_psn, pair.newest_psn) >= 0
            if reached and sum(pair.counts) >= threshold.num_packets:
                self._compare(pair)

    def read(self, dest_qp: int) -> Registers:
        """See `LeafDataPlane.read`."""
        pair = self._pairs.get(dest_qp) or self._empty()
        return Registers(
            counts=tuple(pair.counts),
            failed=pair.failed or (False,) * self.graph.num_spines,
            is_over=pair.is_over,
            overflowed=pair.overflowed,
        )

    def clear(self, dest_qp: int) -> None:
        """See `LeafDataPlane.clear`."""
        self._pairs.pop(dest_qp, None)

    def drain(self) -> tuple[Digest, ...]:
        """See `LeafDataPlane.drain`."""
        digests, self._digests = tuple(self._digests), []
        return digests

    def reset_selection(self) -> None:
        """The control plane's regular reset of the selection (every minute)."""
        before = self.selector.selected
        self.selector.on_reset()
        if self.selector.selected != before:
            self._measured_last_psn = None

    # --- from a host: select, mark, prioritise, spray -----------------------------

    def _from_host(self, packet: Packet, now_ns: int) -> Departure | None:
        # Only this leaf marks, and only the measured flow uses the top class.
        packet = replace(packet, marked=False)
        traffic_class = max(0, min(packet.priority, TOP_CLASS - 1))
        if packet.target_leaf == self.leaf:
            return Departure(packet=packet, spine=None, traffic_class=traffic_class)
        if packet.announcement is not None:
            packet = self._announced(packet)
        elif self._is_measured(packet):
            packet, traffic_class = replace(packet, marked=True), TOP_CLASS
            if packet.psn == self._measured_last_psn:
                self._measured_last_psn = None
                self.selector.on_flow_ended(packet.target_leaf, packet.dest_qp)
        paths = self.graph.paths(self.leaf, packet.target_leaf)
        if not paths:
            return None
        spine = self.sprayer.choose(
            [path.spine for path in paths], packet.num_bytes, traffic_class, now_ns
        )
        return Departure(packet=packet, spine=spine, traffic_class=traffic_class)

    def _announced(self, packet: Packet) -> Packet:
        assert packet.announcement is not None
        # A host cannot speak for another leaf, nor announce another target's flow.
        stamped = replace(
            packet.announcement,
            source_leaf=self.leaf,
            target_leaf=packet.target_leaf,
            dest_qp=packet.dest_qp,
        )
        self.selector.on_announcement(stamped)
        if self._is_selected(packet):
            self._measured_last_psn = stamped.last_psn
        return replace(packet, announcement=stamped)

    def _is_selected(self, packet: Packet) -> bool:
        selected = self.selector.selected
        return selected is not None and (
            (selected.target_leaf, selected.dest_qp)
            == (packet.target_leaf, packet.dest_qp)
        )

    def _is_measured(self, packet: Packet) -> bool:
        return self._measured_last_psn is not None and self._is_selected(packet)

    # --- from a spine: count, compare ---------------------------------------------

    def _from_spine(self, packet: Packet, spine: int) -> Departure | None:
        if packet.target_leaf != self.leaf:
            return None
        if packet.announcement is not None:
            self._digests.append(AnnouncementSeen(announcement=packet.announcement))
        else:
            if packet.marked:
                self._count(packet, spine)
            self._look_for_last(packet)
        traffic_class = max(0, min(packet.priority, TOP_CLASS - 1))
        # Priority ends at the spraying switch ("limiting the prioritization").
        return Departure(packet=packet, spine=None, traffic_class=traffic_class)

    def _count(self, packet: Packet, spine: int) -> None:
        pair = self._pair(packet.dest_qp)
        pair.counts[spine] += 1
        if pair.counts[spine] >> self.counter_bits:
            pair.counts[spine] = 0
            pair.overflowed = True
        newest = pair.newest_psn
        if newest is None or psn_distance(newest, packet.psn) > 0:
            pair.newest_psn = packet.psn

    def _look_for_last(self, packet: Packet) -> None:
        pair = self._pairs.get(packet.dest_qp)
        threshold = None if pair is None else pair.threshold
        if pair and threshold and packet.psn == threshold.last_psn:
            self._compare(pair)
            self._digests.append(LastPacketSeen(dest_qp=packet.dest_qp))

    def _compare(self, pair: _PairState) -> None:
        assert pair.threshold is not None
        limit = pair.threshold.threshold_pkts
        pair.is_over = True
        pair.failed = tuple(count < limit for count in pair.counts)

    def _pair(self, dest_qp: int) -> _PairState:
        return self._pairs.setdefault(dest_qp, self._empty())

    def _empty(self) -> _PairState:
        return _PairState([0] * self.graph.num_spines)
