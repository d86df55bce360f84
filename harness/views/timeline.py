"""What happened when: phases, injections, checks and verdicts on one time axis. Pure.

Called by `run`; every chart takes its bands from here, so that an injection looks the
same on all of them (label and colour are the fault's own).
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.views import wording
from harness.views.source import RunFacts
from vocab.events import (
    CheckCompleted,
    FaultHealed,
    FaultInjected,
    IncidentClosed,
    PhaseChanged,
    VerdictIssued,
)
from vocab.verdict import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One injection, from proof that it fired to proof that it healed."""

    fault_id: str
    label: str
    color: str
    targets: tuple[str, ...]
    from_s: float
    to_s: float | None  # None: not healed (yet)
    from_step: int | None
    to_step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckMark:
    """One finished check of one group: `agree`, `outlier` or `incomplete`."""

    at_s: float
    check: int
    step: int
    group: str
    finding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictMark:
    """One verdict, until its incident was closed."""

    at_s: float
    closed_s: float | None  # None: still open
    verdict_id: str
    state: State
    text: str
    step: int | None
    closed_step: int | None  # None: still open, or closed at no step


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpan:
    """One phase of the harness."""

    phase: str
    from_s: float
    to_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Everything that is drawn over time; `end_s` is the newest event."""

    end_s: float
    phases: tuple[PhaseSpan, ...]
    bands: tuple[Band, ...]
    checks: tuple[CheckMark, ...]
    verdicts: tuple[VerdictMark, ...]


def timeline(facts: RunFacts) -> Timeline:
    """Put all times on one axis, seconds from the run's start."""
    end_s = facts.at_s(facts.events[-1].at_ns) if facts.events else 0.0
    return Timeline(
        end_s=end_s,
        phases=_phases(facts),
        bands=_bands(facts),
        checks=_checks(facts),
        verdicts=_verdicts(facts),
    )


def _phases(facts: RunFacts) -> tuple[PhaseSpan, ...]:
    changes = [
        (facts.at_s(e.at_ns), e.event.phase)
        for e in facts.events
        if isinstance(e.event, PhaseChanged)
    ]
    ends: list[float | None] = [at_s for at_s, _ in changes[1:]]
    return tuple(
        PhaseSpan(phase=phase, from_s=at_s, to_s=end)
        for (at_s, phase), end in zip(changes, [*ends, None], strict=False)
    )


def _bands(facts: RunFacts) -> tuple[Band, ...]:
    bands: list[Band] = []
    healed: dict[str, tuple[float, int | None]] = {}
    for timed in facts.events:
        if isinstance(timed.event, FaultHealed):
            healed[timed.event.fault_id] = (
                facts.at_s(timed.at_ns),
                timed.event.step,
            )
    seen: set[str] = set()
    for timed in facts.events:
        event = timed.event
        if not isinstance(event, FaultInjected) or event.fault_id in seen:
            continue
        seen.add(event.fault_id)  # later strikes of one fault are in the same band
        to_s, to_step = healed.get(event.fault_id, (None, None))
        bands.append(
            Band(
                fault_id=event.fault_id,
                label=event.label,
                color=event.color,
                targets=event.targets,
                from_s=facts.at_s(timed.at_ns),
                to_s=to_s,
                from_step=event.step,
                to_step=to_step,
            )
        )
    return tuple(bands)


def _checks(facts: RunFacts) -> tuple[CheckMark, ...]:
    return tuple(
        CheckMark(
            at_s=facts.at_s(timed.at_ns),
            check=timed.event.check,
            step=timed.event.step,
            group=timed.event.group,
            finding=_finding(timed.event),
        )
        for timed in facts.events
        if isinstance(timed.event, CheckCompleted)
    )


def _finding(check: CheckCompleted) -> str:
    if check.problem is not None or check.missing:
        return "incomplete"
    statuses = {s.status for s in check.surfaces} | {t.status for t in check.timings}
    differs = bool(statuses & {"attributed", "inconclusive"})
    return "outlier" if differs else "agree"


def _verdicts(facts: RunFacts) -> tuple[VerdictMark, ...]:
    closed = {
        e.event.verdict_id: (facts.at_s(e.at_ns), e.event.step)
        for e in facts.events
        if isinstance(e.event, IncidentClosed)
    }
    marks = []
    for timed in facts.events:
        if isinstance(timed.event, VerdictIssued):
            v = timed.event.verdict
            closed_s, closed_step = closed.get(v.verdict_id, (None, None))
            marks.append(
                VerdictMark(
                    at_s=facts.at_s(timed.at_ns),
                    closed_s=closed_s,
                    verdict_id=v.verdict_id,
                    state=v.state,
                    text=wording.incident(v.kind, v.state, v.blamed),
                    step=v.step,
                    closed_step=closed_step,
                )
            )
    return tuple(marks)
