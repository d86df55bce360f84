"""What a leaf's controller tells the shell and the monitor; values only.

Made by `control`; carried out by the agent of a leaf, read by `monitor`. Times are
monotonic nanoseconds, counts are packets.
"""

from __future__ import annotations

from dataclasses import dataclass

from spraycheck.ztest import FlowResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdComputed:
    """To be written into the data plane's registers of `dest_qp`.

    Whole packets: X < t is X < ceil(t). After writing, the shell reads the counters and
    calls `on_threshold_written`, for the last packet may have passed already.
    """

    dest_qp: int
    threshold_pkts: int
    first_psn: int
    last_psn: int
    num_packets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsReported:
    """All paths from one leaf to another, from the flows of the newest window.

    `is_conclusive` is False while there are too few packets, or when the counts cannot
    be explained by lossy paths; then nobody may be blamed or exonerated by it.
    """

    source_leaf: int
    target_leaf: int
    result: FlowResult
    is_conclusive: bool
    reason_code: str  # "" when conclusive; too_few_packets or counts_inconsistent
    packets_still_needed: int
    num_flows: int
    started_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowClosed:
    """The controller forgets a flow; the shell clears its registers.

    `reason_code` is `compared`, or why it was not: expired, never_announced,
    counts_short, superseded, duplicate_qp, announcement_changed, count_above_n,
    counter_overflow, unexpected_spine, routing_changed.
    """

    dest_qp: int
    reason_code: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRejected:
    """Something that cannot be; it changed nothing.

    `reason_code`: wrong_leaf, unknown_leaf, too_few_paths, too_few_packets,
    not_calibrated, qp_in_doubt, table_full, malformed_counts.
    """

    dest_qp: int
    reason_code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterOverflowed:
    """Alarm: counters of `counter_bits` cannot hold, or did not hold, this flow."""

    dest_qp: int
    counter_bits: int
    expected_pkts: float | None  # lambda; None: the flow was never announced


ControlEvent = (
    ThresholdComputed | PathsReported | FlowClosed | InputRejected | CounterOverflowed
)
