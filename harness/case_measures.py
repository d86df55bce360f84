"""What a finished run measures: latencies, clean time, overhead. Pure.

    detection      injection to the first verdict of the manifestation, on whomever
    localization   injection to the verdict that names exactly the culprit (checks)
    clean time     first event to last, less every time in which a fault was active
    overhead       seconds in checks, beside the seconds of training that they delay

Called by `harness.campaign_run` when a case is over, and again by `harness.evidence`
when a qualification is verified. Reads ground truth: it serves scores, never detectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.clock import MergedClock
from harness.fault_record import cause_of
from harness.results import FaultResult, Results
from vocab.events import (
    CheckCompleted,
    Stamped,
    StepEnded,
    UnreadableLine,
    VerdictIssued,
)
from vocab.names import rank_name
from vocab.verdict import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something on a case's time line, seconds after its first event."""

    kind: str  # fault, verdict
    name: str
    at_s: float
    for_s: float | None  # None: a moment, or it never ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What one run measured; None: not measured."""

    detection_s: tuple[float, ...]  # of the incidents that were detected
    localization_s: tuple[float, ...]  # of the incidents that were found
    num_healed: int
    num_injected: int
    clean_s: float | None
    checks_s: float | None
    training_s: float | None
    started_ns: int | None  # wall time of the first event
    marks: tuple[Mark, ...]


def measure(results: Results, events: Sequence[Stamped]) -> Measures:
    """Measure a run from its results and all its events by time."""
    clock = MergedClock()
    for stamped in events:
        clock.note(stamped)
    times = [clock.ns(item) for item in events
             if not isinstance(item.event, UnreadableLine)]  # fmt: skip
    start, end = (min(times), max(times)) if times else (None, None)
    checks_s, training_s = _overhead(events)
    return Measures(
        detection_s=tuple(_detections(results, events, clock)),
        localization_s=tuple(
            item.latency_s
            for item in results.incidents
            if item.found and item.latency_s is not None
        ),
        num_injected=sum(fault.injected for fault in results.faults),
        num_healed=sum(fault.healed for fault in results.faults),
        clean_s=None if start is None or end is None
        else _clean_ns(start, end, results.faults) / 1e9,
        checks_s=checks_s,
        training_s=training_s,
        started_ns=start,
        marks=() if start is None else tuple(_marks(results, events, clock, start)),
    )  # fmt: skip


def _detections(
    results: Results, events: Sequence[Stamped], clock: MergedClock
) -> Iterable[float]:
    for incident in results.incidents:
        fault = cause_of(
            incident.kind, incident.targets, incident.by_step, results.faults
        )
        struck = fault.injected_ns if fault else None
        if struck is None:
            continue
        told = [
            clock.ns(item)
            for item in events
            if isinstance(item.event, VerdictIssued)
            and item.event.verdict.kind is incident.kind
            and item.event.verdict.state not in (State.HEALTHY, State.INCOMPLETE_DATA)
            and clock.ns(item) >= struck
        ]
        if told:
            yield (min(told) - struck) / 1e9


def _clean_ns(start: int, end: int, faults: Sequence[FaultResult]) -> int:
    """Nanoseconds in which no fault was active; one that never healed lasts."""
    active = sorted(
        (fault.injected_ns, end if fault.healed_ns is None else fault.healed_ns)
        for fault in faults
        if fault.injected_ns is not None
    )
    clean, upto = 0, start
    for since, until in active:
        clean += max(0, since - upto)
        upto = max(upto, until)
    return clean + max(0, end - upto)


def _overhead(events: Sequence[Stamped]) -> tuple[float | None, float | None]:
    """(seconds in checks, seconds of training without them) as rank 0 has them.

    A check runs inside the optimizer step that it follows (SCOUT sec. 6), so that the
    duration of its step holds it.
    """
    checks = [item.event for item in events if isinstance(item.event, CheckCompleted)]
    steps = {
        item.event.step: item.event.duration_s
        for item in events
        if item.source == rank_name(0) and isinstance(item.event, StepEnded)
    }
    in_checks = sum(check.duration_s for check in checks if check.step in steps)
    training = sum(steps.values()) - in_checks
    if not checks or training <= 0:
        return None, None
    return in_checks, training


def _marks(
    results: Results, events: Sequence[Stamped], clock: MergedClock, start: int
) -> Iterable[Mark]:
    for fault in results.faults:
        if fault.injected_ns is None:
            continue
        healed = fault.healed_ns
        yield Mark(
            kind="fault",
            name=f"{fault.kind} on {', '.join(fault.targets) or 'nobody'}",
            at_s=(fault.injected_ns - start) / 1e9,
            for_s=None if healed is None else (healed - fault.injected_ns) / 1e9,
        )
    for item in events:
        if isinstance(item.event, VerdictIssued):
            verdict = item.event.verdict
            whom = ", ".join(verdict.blamed) or "nobody"
            yield Mark(
                kind="verdict",
                name=f"{verdict.kind.value} {verdict.state.value}: {whom}",
                at_s=(clock.ns(item) - start) / 1e9,
                for_s=None,
            )
