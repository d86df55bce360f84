"""The typed events of a run directory: the only seam between components (DESIGN 2.1).

One JSON object a line, `{"seq", "t_ns", "source", "type", ...fields}`; the first line
of a file is its `FileOpened` anchor. Times are CLOCK_MONOTONIC nanoseconds.

    source            writes
    harness           RunStarted PhaseChanged ProcessStarted ProcessExited RunEnded ...
    rank3             TierReported StepEnded CheckCompleted VerdictIssued ...
    observer3         ObserverReady ObserverHeartbeat ProgressCompared VerdictIssued
    faults.rank3      FaultTriggered FaultInjected FaultHealed FaultFailed
    faults.harness    the same, for faults from outside a rank; also faults.fabric
    fabric, leaf1     those of `vocab.fabric_events`; monitor: its verdicts

Detectors never read a `faults.*` file (DESIGN 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vocab.codec import from_json, to_json
from vocab.errors import DecodeError
from vocab.event_base import Event as Event
from vocab.fabric_events import FABRIC_EVENTS
from vocab.verdict import Statistic, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """An event with its place and time: what a reader gets."""

    seq: int
    t_ns: int
    source: str
    event: Event


# --- any file ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOpened(Event):
    """Anchor of one file: ties the monotonic clock of this boot to wall time."""

    wall_ns: int
    boot_id: str
    pid: int
    format: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableLine(Event):
    """A line that is no event of ours; made by readers, never written."""

    file: str
    offset: int
    error: str


# --- harness ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """The run exists; what is needed to repeat it."""

    run_id: str
    title: str
    seed: int
    num_ranks: int
    num_steps: int
    command: str
    commit: str
    dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChanged(Event):
    """queued, starting, running, healing, checking or ended."""

    phase: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStarted(Event):
    """A process of the run: `rank3`, `observer3`, `zygote`."""

    name: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExited(Event):
    """Exit code or killing signal; both None when it could not be learned."""

    name: str
    pid: int
    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Event):
    """Something of ours is wrong, with how to mend it; never a verdict."""

    component: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The run's outcome (DESIGN 2.5)."""

    outcome: str
    reason: str


# --- training ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TierReported(Event):
    """How much SCOUT sees here: `full` or `boundaries`, and what it is blind to."""

    tier: str
    sees: tuple[str, ...]
    blind: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded(Event):
    """One optimizer step of one rank is over."""

    step: int
    duration_s: float
    loss: float | None  # of this rank's own batch
    mean_loss: float | None = None  # over all ranks, as logged; None: not asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorDisabled(Event):
    """A failing diagnosis switched itself off; training goes on (DESIGN 2.7)."""

    component: str
    reason: str
    step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorRestarted(Event):
    """A diagnosis was interrupted and goes on: training noticed nothing."""

    component: str
    reason: str
    step: int | None


# --- SCOUT evidence ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceEvidence:
    """One exactly compared surface of a check, for every peer (SCOUT sec. 5.4).

    `values[i]` is peer i's 64-bit signature in hexadecimal, None where it is missing.
    """

    surface: str
    recipe: str
    layer: str | None
    values: tuple[str | None, ...]
    status: str
    bitmap: str
    k: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingEvidence:
    """One timed interval of a check, for every peer, in seconds (SCOUT sec. 5.3).

    Each is the minimum over the variants by charged time; charged is wall less
    that part of run_wait which is not throttled: what contention by other processes
    cannot inflate (FACTS).
    """

    surface: str
    recipe: str
    layer: str | None
    wall_s: tuple[float | None, ...]
    on_cpu_s: tuple[float | None, ...]
    run_wait_s: tuple[float | None, ...]
    status: str
    bitmap: str
    statistic: Statistic | None
    throttled_s: tuple[float | None, ...] = ()  # by a CPU quota; (): not recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCompleted(Event):
    """All C3 evidence of one check of one peer group; written once per group.

    `problem` is set, and names why, when the check is incomplete: no verdict of
    divergence may rest on it.
    """

    check: int
    step: int
    group: str
    group_ranks: tuple[int, ...]
    recipes: tuple[str, ...]
    layer: str | None
    source_rank: int | None
    missing: tuple[int, ...]
    surfaces: tuple[SurfaceEvidence, ...]
    timings: tuple[TimingEvidence, ...]
    variants: tuple[float, ...]
    replay_mode: str
    replay_shape: tuple[int, ...] | None
    duration_s: float
    problem: str | None = None
    sliced: tuple[str, ...] = ()  # parameters with elements in the optimizer's slice


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictIssued(Event):
    """A detector names an incident (once)."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentClosed(Event):
    """The incident's surfaces were measured clean again, or progress went on."""

    verdict_id: str
    step: int | None
    why: str


# --- SCOUT progress ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RingEntry:
    """One published boundary or collective of a rank (SCOUT sec. 7).

    (`step`, `op`) is the coordinate that peers share: `op` counts the step's entries
    from 0. Phases that a single rank may enter (evaluation, checkpoint) do not count;
    their entries keep the last `op` and are numbered from 0 in `lane_op`.
    """

    seq: int
    step: int
    op: int
    phase: str
    name: str
    group_role: str | None = None
    group_seq: int | None = None
    fingerprint: str | None = None
    entered_ns: int = 0
    left_ns: int | None = None  # None: not left yet
    lane_op: int | None = None  # None: an entry that counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSnapshot:
    """What one rank's observer read from its trainer's ring, newest entry last.

    `trainer_state` is the letter of /proc/<pid>/stat, `gone` when there is no process,
    `finished` when it said goodbye, `unknown` when it could not be read. `age_s` is the
    time since it last entered or left anything.
    """

    rank: int
    ring: tuple[RingEntry, ...]
    age_s: float
    trainer_state: str
    exit_code: int | None = None
    signal: int | None = None
    gone_s: float | None = None  # since its process ended; None: it lives, or unknown
    num_torn: int = 0  # entries that its writer was interrupted in


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverReady(Event):
    """The observer of `rank` listens."""

    rank: int
    pid: int
    startup_s: float
    rss_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverHeartbeat(Event):
    """The observer lives; what it last saw of its own trainer."""

    rank: int
    beat: int
    step: int | None
    phase: str
    silent_s: float
    threshold_s: float | None  # None: this phase has no threshold
    trainer_state: str
    rss_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressCompared(Event):
    """Progress of all ranks, gathered by the observers after silence: hang evidence."""

    comparison: int
    trigger: str
    rank: int
    silent_s: float
    threshold_s: float
    group_ranks: tuple[int, ...]
    snapshots: tuple[ProgressSnapshot, ...]
    missing: tuple[int, ...]


# --- ground truth (sealed off from detectors) --------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a fault changed: a thing with its value before and after, as text."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTriggered(Event):
    """A rank reached the place where its fault is to strike; proof follows."""

    fault_id: str
    kind: str
    step: int | None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultInjected(Event):
    """Proof that a fault fired. `label` and `color` are used by every chart."""

    fault_id: str
    kind: str
    label: str
    color: str
    targets: tuple[str, ...]
    step: int | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHealed(Event):
    """Proof that a fault is over; `num_strikes` is how often it struck."""

    fault_id: str
    kind: str
    targets: tuple[str, ...]
    step: int | None
    changes: tuple[Change, ...]
    num_strikes: int
    residue: str = ""  # what stays changed after the fault itself is over


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultFailed(Event):
    """A fault could not be injected or healed, and why."""

    fault_id: str
    kind: str
    reason: str


EVENT_TYPES: dict[str, type[Event]] = {
    cls.__name__: cls
    for cls in (
        FileOpened,
        UnreadableLine,
        RunStarted,
        PhaseChanged,
        ProcessStarted,
        ProcessExited,
        Problem,
        RunEnded,
        TierReported,
        StepEnded,
        DetectorDisabled,
        DetectorRestarted,
        CheckCompleted,
        VerdictIssued,
        IncidentClosed,
        ObserverReady,
        ObserverHeartbeat,
        ProgressCompared,
        *FABRIC_EVENTS,
        FaultTriggered,
        FaultInjected,
        FaultHealed,
        FaultFailed,
    )
}

_ENVELOPE = ("seq", "t_ns", "source", "type")


def encode(stamped: Stamped) -> dict[str, Any]:
    """The JSON object of one line."""
    return {
        "seq": stamped.seq,
        "t_ns": stamped.t_ns,
        "source": stamped.source,
        "type": type(stamped.event).__name__,
        **to_json(stamped.event),
    }


def decode(data: Any) -> Stamped:
    """Read the JSON object of one line.

    Raises:
        DecodeError: it is not an event of a known type with the right fields.
    """
    if not isinstance(data, dict):
        raise DecodeError(f"expected an event object, got {data!r}")
    for name, kind in (("seq", int), ("t_ns", int), ("source", str), ("type", str)):
        if not isinstance(data.get(name), kind):
            raise DecodeError(f"event.{name}: expected {kind.__name__}, got "
                              f"{data.get(name)!r}")  # fmt: skip
    cls = EVENT_TYPES.get(data["type"])
    if cls is None:
        raise DecodeError(
            f"event.type: {data['type']!r}; allowed: {', '.join(sorted(EVENT_TYPES))}"
        )
    fields = {key: value for key, value in data.items() if key not in _ENVELOPE}
    return Stamped(
        seq=data["seq"],
        t_ns=data["t_ns"],
        source=data["source"],
        event=from_json(cls, fields),
    )
