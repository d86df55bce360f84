"""Scores a run: what was expected beside what was found (DESIGN sec. 2.4, 2.5). Pure.

    cancelled > infrastructure-error > not-injected > fail > inconclusive > pass

The first that holds is the outcome; everything else still stands in the results. Called
by `run` when the ranks are gone, and by whoever scores stored events again.

A fault that struck but was not healed is an infrastructure error: the testbed did not
keep its word, and the clean steps after the fault prove nothing. Where the struck
process itself died, its death is the heal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.clock import MergedClock
from harness.fault_record import cause_of, fault_results
from harness.matching import (
    effective,
    in_window,
    match,
    says_the_same,
    targets_of,
)
from harness.results import (
    ExtraVerdict,
    FaultResult,
    IncidentResult,
    Outcome,
    Results,
    SymptomResult,
)
from harness.scenario import Expectation, Scenario
from harness.store import Ended
from harness.symptom import in_words, is_as_expected, observe
from vocab.events import (
    CheckCompleted,
    DetectorDisabled,
    Problem,
    ProcessExited,
    Stamped,
    StepEnded,
    UnreadableLine,
    VerdictIssued,
)
from vocab.fabric_events import PathsCompared
from vocab.names import rank_name
from vocab.verdict import Kind, State, Verdict

_MENTION = 3  # findings that a reason spells out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    incidents: tuple[IncidentResult, ...]
    extras: tuple[ExtraVerdict, ...]
    incomplete: tuple[Verdict, ...]  # unexpected verdicts of too little data
    num_verdicts: int


def score(
    scenario: Scenario, events: Sequence[Stamped], ended: Ended | None
) -> Results:
    """The results of a run from its scenario, all its events by time, and its end.

    Args:
        ended: None where the harness was killed before it could write it.
    """
    clock = MergedClock()
    for stamped in events:
        clock.note(stamped)
    faults = fault_results(scenario, events, clock)
    found = _compare(scenario, events, clock, faults)
    steps = _steps_done(scenario, events)
    doubts = [*_doubts(events, found.incomplete), *_not_looked(scenario, events, found)]
    broken = list(_broken(scenario, events, ended, steps, faults))
    symptom = _symptom(scenario, events)
    outcome, reason = _judge(ended, broken, faults, found, doubts, symptom)
    return Results(
        outcome=outcome,
        reason=reason,
        incidents=found.incidents,
        extras=found.extras,
        faults=faults,
        problems=(*broken, *doubts),
        steps_done=steps,
        num_checks=len(_checks(events)),
        num_verdicts=found.num_verdicts,
        wall_s=ended.wall_s if ended else None,
        first_step_s=ended.first_step_s if ended else None,
        symptom=symptom,
    )


def unscored(scenario: Scenario | None, ended: Ended | None, why: str) -> Results:
    """The results of a run that could not be scored: nothing is claimed."""
    return Results(
        outcome=Outcome.INFRASTRUCTURE,
        reason=why,
        incidents=(),
        extras=(),
        faults=(),
        problems=(why,),
        steps_done=(0,) * scenario.num_ranks if scenario else (),
        num_checks=0,
        num_verdicts=0,
        wall_s=ended.wall_s if ended else None,
        first_step_s=ended.first_step_s if ended else None,
    )


def _compare(
    scenario: Scenario,
    events: Sequence[Stamped],
    clock: MergedClock,
    faults: Sequence[FaultResult],
) -> _Compared:
    issued = [item for item in events if isinstance(item.event, VerdictIssued)]
    told_ns = {_verdict(item).verdict_id: clock.ns(item) for item in issued}
    standing = effective([_verdict(item) for item in issued])
    matching = match(scenario.expect, standing)
    unexpected = [standing[index] for index in matching.extras]
    return _Compared(
        incidents=tuple(
            _incident(expected, None if at is None else standing[at], told_ns, faults)
            for expected, at in zip(scenario.expect, matching.answers, strict=True)
        ),
        extras=tuple(
            _extra(verdict, scenario.expect)
            for verdict in unexpected
            if verdict.state is not State.INCOMPLETE_DATA
        ),
        incomplete=tuple(
            verdict for verdict in unexpected if verdict.state is State.INCOMPLETE_DATA
        ),
        num_verdicts=len(issued),
    )


def _judge(
    ended: Ended | None,
    broken: list[str],
    faults: Sequence[FaultResult],
    found: _Compared,
    doubts: list[str],
    symptom: SymptomResult | None,
) -> tuple[Outcome, str]:
    spared = [
        f"{item.fault_id}: {item.problem}" for item in faults if not item.injected
    ]
    missed = [_missing(item) for item in found.incidents if item.is_missed]
    wrong = [f"{_who(extra)}: {extra.reason}" for extra in found.extras]
    if symptom is not None and not symptom.as_expected:
        wrong.append(f"symptom {symptom.observed}, expected {symptom.expected}")
    if ended is not None and ended.reason == "cancelled":
        return Outcome.CANCELLED, ended.detail or "cancelled"
    if broken:
        return Outcome.INFRASTRUCTURE, _some(broken)
    if spared:
        return Outcome.NOT_INJECTED, _some([*spared, *wrong])
    if wrong or (missed and not doubts):
        return Outcome.FAIL, _some([*wrong, *missed])
    if doubts:
        return Outcome.INCONCLUSIVE, _some([*missed, *doubts])
    told = _some([_found(item) for item in found.incidents if item.found])
    return Outcome.PASS, told or "nobody was blamed, as expected"


def _symptom(scenario: Scenario, events: Sequence[Stamped]) -> SymptomResult | None:
    if scenario.symptom is None:
        return None
    observed = observe(scenario, events)
    return SymptomResult(
        expected=in_words(scenario.symptom),
        observed=in_words(observed),
        as_expected=is_as_expected(scenario.symptom, observed),
    )


def _incident(
    expected: Expectation,
    verdict: Verdict | None,
    told_ns: dict[str, int],
    faults: Sequence[FaultResult],
) -> IncidentResult:
    fault = cause_of(expected.kind, targets_of(expected), expected.by_step, faults)
    latency_s = latency_steps = None
    if verdict is not None and fault is not None:
        if fault.injected_ns is not None:
            latency_s = (told_ns[verdict.verdict_id] - fault.injected_ns) / 1e9
        if fault.step is not None and verdict.step is not None:
            latency_steps = verdict.step - fault.step
    return IncidentResult(
        kind=expected.kind,
        state=expected.state,
        targets=targets_of(expected),
        from_step=expected.from_step,
        by_step=expected.by_step,
        found=verdict is not None,
        verdict_id=verdict.verdict_id if verdict else None,
        found_step=verdict.step if verdict else None,
        latency_s=latency_s,
        latency_steps=latency_steps,
        outside_coverage=expected.outside_coverage,
    )


def _extra(verdict: Verdict, expect: Sequence[Expectation]) -> ExtraVerdict:
    return ExtraVerdict(
        verdict_id=verdict.verdict_id,
        kind=verdict.kind,
        state=verdict.state,
        blamed=verdict.blamed,
        step=verdict.step,
        reason=_why_extra(verdict, expect),
    )


def _why_extra(verdict: Verdict, expect: Sequence[Expectation]) -> str:
    alike = [expected for expected in expect if says_the_same(expected, verdict)]
    if any(in_window(expected, verdict) for expected in alike):
        return "this incident was reported already"
    if alike and verdict.step is None:
        return "names the expected, but at no step, so its window cannot be checked"
    if alike and verdict.step is not None:
        if verdict.step < min(expected.from_step for expected in alike):
            first = min(expected.from_step for expected in alike)
            return f"came at step {verdict.step}, before its window opens at {first}"
        last = max(expected.by_step for expected in alike)
        return f"came at step {verdict.step}, its window closed after {last}"
    wanted = [expected for expected in expect if expected.kind is verdict.kind]
    if wanted:
        names = " or ".join(_names(targets_of(item)) for item in wanted)
        return f"expected to be blamed for {verdict.kind}: {names}"
    return f"nothing of kind {verdict.kind} was expected"


def _broken(
    scenario: Scenario,
    events: Sequence[Stamped],
    ended: Ended | None,
    steps: tuple[int, ...],
    faults: Sequence[FaultResult],
) -> Iterator[str]:
    if ended is None:
        yield "the harness was killed before the run ended"
        return
    may_die = any(item.kind in (Kind.CRASH, Kind.HANG) for item in scenario.expect)
    dead = _dead_ranks(events)
    if ended.reason not in ("finished", "cancelled") and not (
        may_die and ended.reason in ("rank-died", "stalled", "timeout")
    ):
        yield f"{ended.reason}: {ended.detail}" if ended.detail else ended.reason
    elif ended.reason == "finished" and scenario.workload.script is None:
        for rank, done in enumerate(steps):
            if done < scenario.steps:
                yield f"{rank_name(rank)} did {done} of {scenario.steps} steps"
    for fault in faults:
        if fault.injected and not fault.healed and not set(fault.targets) & dead:
            why = f": {fault.problem}" if fault.problem else ""
            yield f"{fault.fault_id} struck and was not healed{why}"


def _doubts(events: Sequence[Stamped], incomplete: Sequence[Verdict]) -> Iterator[str]:
    for verdict in incomplete:
        yield f"incomplete data at step {verdict.step}: {verdict.reason}"
    for stamped in events:
        match stamped.event:
            case DetectorDisabled(component=component, reason=reason, step=step):
                at = "" if step is None else f" at step {step}"
                yield f"{stamped.source}: {component} switched itself off{at}: {reason}"
            case UnreadableLine(file=file, offset=offset, error=error):
                yield f"{file} has an unreadable line at byte {offset}: {error}"
            case Problem(component=component, message=message):
                yield f"{stamped.source}: {component}: {message}"


def _not_looked(
    scenario: Scenario, events: Sequence[Stamped], found: _Compared
) -> Iterator[str]:
    """A run in which nobody looked proves nothing, also where nobody is expected."""
    if any(incident.found for incident in found.incidents):
        return
    if scenario.fabric != "none" and not _has_compared_paths(events):
        yield "SprayCheck compared no path: nobody looked"
    if scenario.scout == "off":
        if scenario.fabric == "none":
            yield "SCOUT was off: nobody looked"
    elif not any(check.problem is None for check in _checks(events)):
        yield "SCOUT completed no check: nobody looked"


def _has_compared_paths(events: Sequence[Stamped]) -> bool:
    return any(
        isinstance(item.event, PathsCompared) and item.event.is_conclusive
        for item in events
    )


def _steps_done(scenario: Scenario, events: Sequence[Stamped]) -> tuple[int, ...]:
    done = dict.fromkeys(map(rank_name, range(scenario.num_ranks)), 0)
    for stamped in events:
        if isinstance(stamped.event, StepEnded) and stamped.source in done:
            done[stamped.source] = max(done[stamped.source], stamped.event.step)
    return tuple(done.values())


def _dead_ranks(events: Sequence[Stamped]) -> set[str]:
    return {
        stamped.event.name
        for stamped in events
        if isinstance(stamped.event, ProcessExited) and stamped.event.exit_code != 0
    }


def _verdict(stamped: Stamped) -> Verdict:
    assert isinstance(stamped.event, VerdictIssued)
    return stamped.event.verdict


def _checks(events: Sequence[Stamped]) -> list[CheckCompleted]:
    return [item.event for item in events if isinstance(item.event, CheckCompleted)]


def _found(incident: IncidentResult) -> str:
    whom = _names(incident.targets) if incident.targets else f"({incident.state})"
    return f"{incident.kind} {whom} found at step {incident.found_step}"


def _missing(incident: IncidentResult) -> str:
    what = f"{incident.kind} {_names(incident.targets)}"
    window = f"steps {incident.from_step} to {incident.by_step}"
    return f"{what} ({incident.state}) was not found in {window}"


def _who(extra: ExtraVerdict) -> str:
    return f"{extra.kind} verdict ({extra.state}) on {_names(extra.blamed)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nobody"


def _some(parts: Sequence[str]) -> str:
    text = "; ".join(parts[:_MENTION])
    more = len(parts) - _MENTION
    return f"{text}; and {more} more" if more > 0 else text
