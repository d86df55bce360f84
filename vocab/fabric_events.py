"""Events of the fabric under test: SprayCheck's evidence (DESIGN sec. 4, 6).

    fabric    FabricReady RoutingChanged ExchangeWaited ExchangeEnded FabricEnded
    leaf1     FlowAnnounced FlowCounted ─► PathsCompared, FlowUnjudged
    monitor   PathsCompared ─► VerdictIssued, IncidentClosed (`vocab.events`)

Written by the process that carries the job's packets; read by every surface and by
re-analysis. What was lost, and where, stands in none of them: that is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

from vocab.event_base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The s that one leaf compares with, for k usable spines, and where it is from.

    The sample's own false alarms (`num_alarms` of `num_flows`) are at `sampled_s`; s is
    the larger of that and of the normal approximation at `false_alarm`.
    """

    num_spines: int  # k
    s: float
    false_alarm: float  # wanted rate, over all spines of a flow
    sampled_s: float
    num_alarms: int
    num_flows: int
    num_packets: int  # of each flow of the sample
    variance_ratio: float  # Var X / lambda


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricReady(Event):
    """A leaf-spine fabric carries the job's packets; what its leaves compare with."""

    num_leaves: int
    num_spines: int
    policy: str
    load: float  # of the uplinks while a flow is sent, fraction
    burst_pkts: int
    model: str  # whose size the collectives have; "real": the job's own
    min_packets_per_spine: int  # P_min: a comparison concludes from there on
    wanted_drop_frac: float
    patience_s: float
    sensitivities: tuple[Sensitivity, ...]
    disabled: tuple[str, ...]  # links that routing leaves out
    pid: int
    startup_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingChanged(Event):
    """Links left or joined the routing; `disabled` are all that are out of it now."""

    step: int
    disabled: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowAnnounced(Event):
    """A leaf was told of a flow to it (SprayCheck "flow announcement")."""

    step: int
    source_leaf: int
    target_leaf: int
    dest_qp: int
    first_psn: int
    num_packets: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowCounted(Event):
    """Counters of a measured flow were read at its target leaf, one per spine."""

    step: int
    dest_qp: int
    counts: tuple[int, ...]
    is_over: bool  # the last packet was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineCount:
    """One spine's count beside its threshold, in packets."""

    spine: int
    count: int
    margin: float  # count - threshold; below 0: failed
    z: float
    p_value: float
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsCompared(Event):
    """A leaf compared the paths from another leaf, over the flows of a window."""

    step: int
    source_leaf: int
    target_leaf: int
    num_packets: int  # N
    expected: float  # lambda = N / k
    threshold: float  # lambda - s sqrt(lambda)
    sensitivity: float
    smallest_drop_frac: float  # that is found with probability 1/2
    spines: tuple[SpineCount, ...]
    is_conclusive: bool
    reason_code: str  # "" when conclusive
    packets_still_needed: int
    num_flows: int
    started_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowUnjudged(Event):
    """A flow that no path may be blamed or exonerated by, and why."""

    step: int
    dest_qp: int
    reason_code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeWaited(Event):
    """The step's collectives do not go on: ranks are missing."""

    step: int
    waited_s: float
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeEnded(Event):
    """The fabric carried the collectives of one step."""

    step: int
    job_bytes: int  # of one rank's gradients, as the job has them
    num_packets: int  # of all flows, as announced
    simulated_s: float
    extra_s: float  # more than on the same fabric without a fault
    delayed_s: float  # by which the job was held up for it
    wall_s: float  # that the simulation took


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricEnded(Event):
    """The job has left the fabric."""

    step: int
    why: str


FABRIC_EVENTS: tuple[type[Event], ...] = (
    FabricReady,
    RoutingChanged,
    FlowAnnounced,
    FlowCounted,
    PathsCompared,
    FlowUnjudged,
    ExchangeWaited,
    ExchangeEnded,
    FabricEnded,
)
