"""Runs the cases of a campaign one after another, and keeps each when it is over.

    case ─► harness.launch ─► run directory ─► results.json ─► one line in cases.jsonl

Called by the `campaign` command. Being killed at any moment costs nothing that was
finished: the run that goes on then is a process of its own, and the resumed campaign
takes it over instead of making it again.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.campaign import Case, Plan
from harness.campaign_journal import NOT_MEASURED, CaseResult, Journal
from harness.errors import UnknownRun
from harness.launch import follow, is_live, launch
from harness.results import IncidentResult, Outcome, Results
from harness.store import RunDirectory, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a campaign is: told before each case, and once at the end."""

    num_done: int
    num_cases: int
    case: Case | None  # that begins now; None: all are done
    last: CaseResult | None
    eta_s: float | None  # None: no case has been timed yet


def run_cases(
    plan: Plan,
    journal: Journal,
    finished: Mapping[str, CaseResult],
    *,
    tell: Callable[[Progress], None],
) -> list[CaseResult]:
    """Run what is missing; returns the results of all cases, in the plan's order.

    Args:
        finished: of the journal; what measured nothing is run again.

    Raises:
        InfrastructureError: a run cannot be started.
    """
    known = {
        case.case_id: finished[case.case_id]
        for case in plan.cases
        if case.case_id in finished
        and finished[case.case_id].outcome not in NOT_MEASURED
    }
    last: CaseResult | None = None
    for case in plan.cases:
        if case.case_id in known:
            continue
        tell(_progress(plan, known, case, last))
        last = _run_one(case, journal)
        journal.append(last)
        known[case.case_id] = last
    tell(_progress(plan, known, None, last))
    return [known[case.case_id] for case in plan.cases]


def result_of(case: Case, run: RunDirectory) -> CaseResult:
    """What one run that is over says about its case."""
    results = run.results()
    incidents = results.incidents if results else ()
    return CaseResult(
        case_id=case.case_id,
        part=case.part,
        kinds=case.kinds,
        scenario_name=case.scenario_name,
        seed=case.scenario.seed,
        run_id=run.run_id,
        outcome=results.outcome if results else Outcome.INFRASTRUCTURE,
        reason=results.reason if results else "the run was killed before its check",
        num_expected=_num_promised(case, incidents),
        num_found=sum(item.found for item in incidents),
        num_false_blames=_false_blames(results),
        latencies_s=tuple(
            item.latency_s
            for item in incidents
            if item.found and item.latency_s is not None
        ),
        wall_s=results.wall_s if results else None,
    )


def eta_s(finished: Iterable[CaseResult], num_left: int) -> float | None:
    """Seconds that the rest will take, by the median of what was timed."""
    walls = [item.wall_s for item in finished if item.wall_s is not None]
    return statistics.median(walls) * num_left if walls else None


def _num_promised(case: Case, incidents: Sequence[IncidentResult]) -> int:
    """Incidents to find; what lies outside the coverage counts once it is found."""
    if incidents:
        return sum(item.found or item.is_missed for item in incidents)
    return sum(not item.outside_coverage for item in case.scenario.expect)


def _false_blames(results: Results | None) -> int:
    return sum(bool(extra.blamed) for extra in results.extras) if results else 0


def _run_one(case: Case, journal: Journal) -> CaseResult:
    run = _taken_over(case, journal)
    if run is None:
        run = launch(case.scenario, runs_root=journal.runs, name=case.scenario_name)
        journal.note_current(case.case_id, run.run_id)
    for _ in follow(run):
        pass
    return result_of(case, run)


def _taken_over(case: Case, journal: Journal) -> RunDirectory | None:
    """The run of this case that an earlier, killed campaign left, if it is of use."""
    current = journal.current()
    if current is None or current[0] != case.case_id:
        return None
    try:
        run = Store(journal.runs).open(current[1])
    except UnknownRun:
        return None
    results = run.results()
    if is_live(run) or (results and results.outcome not in NOT_MEASURED):
        return run
    return None


def _progress(
    plan: Plan,
    known: Mapping[str, CaseResult],
    case: Case | None,
    last: CaseResult | None,
) -> Progress:
    return Progress(
        num_done=len(known),
        num_cases=len(plan.cases),
        case=case,
        last=last,
        eta_s=eta_s(known.values(), len(plan.cases) - len(known)),
    )


def default_folder(path: Path) -> Path:
    """Where a campaign is kept unless told otherwise."""
    return Path("campaigns") / path.stem
