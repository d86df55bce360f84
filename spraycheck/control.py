"""The control plane of one leaf, without I/O (SprayCheck "control plane").

Pure: `on_...(…, now_ns)` in, tuples of `report` events out; no clock, no socket, and no
input can make it raise. Called by the agent of a leaf (simulated, eBPF, P4). It parses
no packets: announcements arrive as fixed-width fields (the paper's security concern).

    on_announcement ─► ThresholdComputed ─► (shell writes) ─► on_threshold_written ─┐
    on_last_psn ────────────────────────────────────────────────────────────────────┤
    on_tick, counts sum to N or more ───────────────────────────────────────────────┤
                              compare ◄─────────────────────────────────────────────┘
                                 └► PathsReported, FlowClosed

The announcement may come before, during or after the data: counts are kept either way.
Counts that sum to much less than N at the "last" packet are a lie, or packets under
way: the flow stays open, and is compared when they sum to N, or expires unjudged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spraycheck.aggregate import FlowRecord, FlowWindow
from spraycheck.announcement import Announcement
from spraycheck.errors import CalibrationError, CountError
from spraycheck.report import (
    ControlEvent,
    CounterOverflowed,
    FlowClosed,
    InputRejected,
    PathsReported,
    ThresholdComputed,
)
from spraycheck.ztest import judge, packets_still_needed, threshold
from vocab.graph import LeafSpine

Events = tuple[ControlEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlConfig:
    """Settings of one leaf's controller."""

    sensitivity: Callable[[int], float]
    """s for k usable spines; calibrated or analytic, never a constant of ours. May
    raise CalibrationError: such a flow is rejected by name."""
    min_packets_per_spine: int
    """P_min: a window concludes from that many packets a spine on."""
    wanted_drop_frac: float = 0.01
    """Drop rate, fraction above 0, to which "packets still needed" refers."""
    variance_ratio: float = 1.0
    """v, above 0; for p-values only."""
    expiry_ns: int = 60_000_000_000
    """Age at which a flow is given up; the paper's one minute."""
    counter_bits: int = 32
    """Width of the data plane's counters; 16 as in the paper raises alarms."""
    max_flows: int = 4096
    """Flows kept at a time, so that state is bounded whatever hosts announce."""

    def __post_init__(self) -> None:
        if self.min_packets_per_spine < 1:
            raise CountError(
                f"min_packets_per_spine is {self.min_packets_per_spine}; "
                "allowed: 1 or more"
            )
        if self.counter_bits not in (16, 32, 64):
            raise CountError(
                f"counter_bits is {self.counter_bits}; allowed: 16, 32, 64"
            )
        if not 0 < self.wanted_drop_frac <= 1:
            raise CountError(
                f"wanted_drop_frac is {self.wanted_drop_frac}; allowed: above 0, "
                "at most 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSize:
    """What the controller and the data plane keep now, and at most."""

    num_flows: int
    max_flows: int
    num_windows: int
    num_records: int
    register_bytes: int  # data plane: counters, threshold and PSNs of all flows


@dataclass(slots=True)
class _Flow:
    started_ns: int
    counts: tuple[int, ...]  # by spine of the fabric
    announcement: Announcement | None = None
    spines: tuple[int, ...] = ()
    s: float = 0.0
    is_over: bool = False  # its last packet was seen
    is_short: bool = False  # ... but the counts cannot be all of it


@dataclass(slots=True)
class LeafController:
    """The controller of leaf number `leaf`."""

    leaf: int
    graph: LeafSpine
    config: ControlConfig
    _flows: dict[int, _Flow] = field(default_factory=dict)
    _windows: dict[int, FlowWindow] = field(default_factory=dict)
    _doubted: dict[int, int] = field(default_factory=dict)  # QP -> since when

    def on_announcement(self, announcement: Announcement, now_ns: int) -> Events:
        """A flow to this leaf was announced; repeated announcements change nothing."""
        qp = announcement.dest_qp
        if qp in self._doubted:
            return (_rejected(qp, "qp_in_doubt", "announced twice in conflict"),)
        flow = self._flows.get(qp)
        events: Events = ()
        if flow is not None and flow.announcement is not None:
            held = flow.announcement
            if held == announcement or self._is_older(announcement, held):
                return ()
            if held.source_leaf != announcement.source_leaf:
                return self._doubt(qp, "duplicate_qp", now_ns)
            if held.sequence == announcement.sequence:
                return self._doubt(qp, "announcement_changed", now_ns)
            events = self._finish(qp, now_ns, otherwise="superseded")
        return events + self._open(announcement, now_ns)

    def on_counts(self, dest_qp: int, counts: Sequence[int], now_ns: int) -> Events:
        """Counters of a flow were read, one per spine of the fabric."""
        flow = self._flows.get(dest_qp)
        wrong = self._malformed(counts)
        if wrong:
            return (_rejected(dest_qp, "malformed_counts", wrong),)
        if flow is None:
            if len(self._flows) >= self.config.max_flows:
                return (self._table_full(dest_qp),)
            flow = self._flows[dest_qp] = _Flow(now_ns, tuple(counts))
        flow.counts = tuple(counts)
        return ()

    def on_last_psn(self, dest_qp: int, counts: Sequence[int], now_ns: int) -> Events:
        """The data plane saw the flow's last packet."""
        events = self.on_counts(dest_qp, counts, now_ns)
        flow = self._flows.get(dest_qp)
        if events or flow is None:
            return events
        flow.is_over = True
        return self._compare_if_over(dest_qp, now_ns)

    def on_threshold_written(
        self, dest_qp: int, counts: Sequence[int], is_over: bool, now_ns: int
    ) -> Events:
        """The registers hold the threshold; `is_over`: the last PSN was seen before."""
        if is_over:
            return self.on_last_psn(dest_qp, counts, now_ns)
        return self.on_counts(dest_qp, counts, now_ns)

    def on_counter_overflowed(self, dest_qp: int) -> Events:
        """A counter wrapped around: what it says is worth nothing."""
        flow = self._flows.pop(dest_qp, None)
        announced = None if flow is None else flow.announcement
        expected = None
        if flow is not None and announced is not None:
            expected = announced.num_packets / len(flow.spines)
        return (
            CounterOverflowed(
                dest_qp=dest_qp,
                counter_bits=self.config.counter_bits,
                expected_pkts=expected,
            ),
            FlowClosed(dest_qp=dest_qp, reason_code="counter_overflow"),
        )

    def on_routing_changed(self, graph: LeafSpine, now_ns: int) -> Events:
        """Links left or joined the routing: flows begun on others are given up."""
        self.graph = graph
        changed = [
            qp
            for qp, flow in self._flows.items()
            if flow.announcement is not None
            and flow.spines != self._spines_from(flow.announcement.source_leaf)
        ]
        return tuple(self._close(qp, "routing_changed") for qp in changed)

    def on_tick(self, now_ns: int) -> Events:
        """Time passed: compare what is complete, give up what is too old."""
        events: Events = ()
        for qp, flow in list(self._flows.items()):
            if flow.announcement and sum(flow.counts) >= flow.announcement.num_packets:
                events += self._compare(qp, now_ns)
            elif now_ns - flow.started_ns >= self.config.expiry_ns:
                code = "counts_short" if flow.is_short else "expired"
                events += (
                    self._close(qp, code if flow.announcement else "never_announced"),
                )
        for qp, since_ns in list(self._doubted.items()):
            if now_ns - since_ns >= self.config.expiry_ns:
                del self._doubted[qp]
        return events

    def state_size(self) -> StateSize:
        """How much is kept, here and in the data plane's registers."""
        # Per flow: a counter a spine, threshold (4), first and last PSN (4 each).
        one = self.graph.num_spines * self.config.counter_bits // 8 + 12
        return StateSize(
            num_flows=len(self._flows),
            max_flows=self.config.max_flows,
            num_windows=len(self._windows),
            num_records=sum(len(item.records) for item in self._windows.values()),
            register_bytes=len(self._flows) * one,
        )

    # --- opening ------------------------------------------------------------------

    def _open(self, announcement: Announcement, now_ns: int) -> Events:
        qp, number = announcement.dest_qp, announcement.num_packets
        problem = self._cannot_measure(announcement)
        if problem:
            return (problem,)
        spines = self._spines_from(announcement.source_leaf)
        try:
            s = self.config.sensitivity(len(spines))
            limit = threshold(number, len(spines), s)
        except (CalibrationError, CountError) as error:
            return (_rejected(qp, "not_calibrated", str(error)),)
        # Where one path loses everything, the others carry its share as well.
        if number / (len(spines) - 1) >= 1 << self.config.counter_bits:
            alarm = CounterOverflowed(
                dest_qp=qp,
                counter_bits=self.config.counter_bits,
                expected_pkts=number / len(spines),
            )
            closed = FlowClosed(dest_qp=qp, reason_code="counter_overflow")
            self._flows.pop(qp, None)
            return (alarm, closed)
        flow = self._flows.setdefault(qp, _Flow(now_ns, (0,) * self.graph.num_spines))
        flow.announcement, flow.spines, flow.s = announcement, spines, s
        computed = ThresholdComputed(
            dest_qp=qp,
            threshold_pkts=math.ceil(limit),
            first_psn=announcement.first_psn,
            last_psn=announcement.last_psn,
            num_packets=number,
        )
        return (computed, *self._compare_if_over(qp, now_ns))

    def _cannot_measure(self, announcement: Announcement) -> InputRejected | None:
        qp, source = announcement.dest_qp, announcement.source_leaf
        if announcement.target_leaf != self.leaf:
            return _rejected(
                qp,
                "wrong_leaf",
                f"target_leaf is {announcement.target_leaf}; allowed: {self.leaf}",
            )
        if not 0 <= source < self.graph.num_leaves or source == self.leaf:
            return _rejected(
                qp,
                "unknown_leaf",
                f"source_leaf is {source}; allowed: 0..{self.graph.num_leaves - 1} "
                f"without {self.leaf}",
            )
        paths = len(self._spines_from(source))
        if paths < 2:
            return _rejected(qp, "too_few_paths", f"{paths} paths; allowed: 2 or more")
        if announcement.num_packets < paths:
            return _rejected(
                qp,
                "too_few_packets",
                f"num_packets is {announcement.num_packets}; allowed: {paths} or more",
            )
        if qp not in self._flows and len(self._flows) >= self.config.max_flows:
            return self._table_full(qp)
        return None

    def _spines_from(self, source_leaf: int) -> tuple[int, ...]:
        paths = self.graph.paths(source_leaf, self.leaf)
        return tuple(path.spine for path in paths)

    @staticmethod
    def _is_older(new: Announcement, held: Announcement) -> bool:
        """Reordered behind a later one; sequences count modulo 2^32."""
        behind = (held.sequence - new.sequence) % (1 << 32)
        return new.source_leaf == held.source_leaf and 0 < behind < 1 << 31

    # --- comparing ----------------------------------------------------------------

    def _compare_if_over(self, qp: int, now_ns: int) -> Events:
        flow = self._flows[qp]
        if flow.announcement is None or not flow.is_over:
            return ()
        if self._is_plausible(flow):
            return self._compare(qp, now_ns)
        flow.is_short = True
        return ()

    def _finish(self, qp: int, now_ns: int, *, otherwise: str) -> Events:
        flow = self._flows[qp]
        assert flow.announcement is not None
        if sum(flow.counts) >= flow.announcement.num_packets:
            return self._compare(qp, now_ns)
        return (self._close(qp, otherwise),)

    def _is_plausible(self, flow: _Flow) -> bool:
        assert flow.announcement is not None
        number = flow.announcement.num_packets
        counts = [flow.counts[spine] for spine in flow.spines]
        if max(counts) > number:
            return True  # impossible, and more packets do not mend it
        result = judge(counts, number, flow.s)
        return not result.failed or result.is_consistent

    def _compare(self, qp: int, now_ns: int) -> Events:
        flow = self._flows[qp]
        announced = flow.announcement
        assert announced is not None
        counts = tuple(flow.counts[spine] for spine in flow.spines)
        strays = sum(flow.counts) - sum(counts)
        if strays:
            return (
                self._close(qp, "unexpected_spine", f"{strays} packets off the routes"),
            )
        if max(counts) > announced.num_packets:
            detail = f"counted {max(counts)} of {announced.num_packets} packets"
            return (self._close(qp, "count_above_n", detail),)
        window = self._window(announced.source_leaf, flow.spines)
        window.add(
            FlowRecord(
                num_packets=announced.num_packets,
                counts=counts,
                started_ns=flow.started_ns,
                ended_ns=now_ns,
            )
        )
        report = self._report(announced.source_leaf, window, flow.s)
        return (report, self._close(qp, "compared"))

    def _window(self, source_leaf: int, spines: tuple[int, ...]) -> FlowWindow:
        window = self._windows.get(source_leaf)
        if window is None or window.spines != spines:
            wanted = self.config.min_packets_per_spine * len(spines)
            window = self._windows[source_leaf] = FlowWindow(spines, wanted)
        return window

    def _report(self, source_leaf: int, window: FlowWindow, s: float) -> PathsReported:
        result = judge(
            window.counts,
            window.num_packets,
            s,
            variance_ratio=self.config.variance_ratio,
            spines=window.spines,
        )
        reason = "" if window.is_full else "too_few_packets"
        if result.failed and not result.is_consistent:
            reason = "counts_inconsistent"
        missing = window.min_packets - window.num_packets
        sensitive = packets_still_needed(
            window.num_packets, self.config.wanted_drop_frac, len(window.spines), s
        )
        return PathsReported(
            source_leaf=source_leaf,
            target_leaf=self.leaf,
            result=result,
            is_conclusive=not reason,
            reason_code=reason,
            packets_still_needed=max(0, missing, sensitive),
            num_flows=len(window.records),
            started_ns=window.records[0].started_ns,
            ended_ns=window.records[-1].ended_ns,
        )

    # --- closing and refusing -----------------------------------------------------

    def _close(self, qp: int, reason_code: str, detail: str = "") -> FlowClosed:
        del self._flows[qp]
        return FlowClosed(dest_qp=qp, reason_code=reason_code, detail=detail)

    def _doubt(self, qp: int, reason_code: str, now_ns: int) -> Events:
        """Two flows are mixed in these counters: believe neither for a while."""
        if len(self._doubted) < self.config.max_flows:
            self._doubted[qp] = now_ns
        return (self._close(qp, reason_code),)

    def _malformed(self, counts: Sequence[int]) -> str:
        limit = (1 << self.config.counter_bits) - 1
        if len(counts) != self.graph.num_spines:
            return f"{len(counts)} counts; allowed: {self.graph.num_spines}"
        for spine, count in enumerate(counts):
            if not 0 <= count <= limit:
                return f"count of spine{spine} is {count}; allowed: 0..{limit}"
        return ""

    def _table_full(self, qp: int) -> InputRejected:
        return _rejected(qp, "table_full", f"{self.config.max_flows} flows are open")


def _rejected(qp: int, reason_code: str, detail: str) -> InputRejected:
    return InputRejected(dest_qp=qp, reason_code=reason_code, detail=detail)
