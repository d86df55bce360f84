"""Runs the cases of a campaign, and keeps each when it is over.

    case ─► harness.launch ─► run directory ─► results.json ─► one line in cases.jsonl

Called by the `campaign` command and by `harness.qualify_run`. Being killed at any
moment costs nothing that was finished: the run that goes on then is a process of its
own, and the resumed campaign takes it over instead of making it again.

One case at a time, because verdicts that rest on time are wrong on a busy machine. With
`num_workers` above 1, cases whose verdicts rest on no time run side by side first
(`pool_size` says which and how many), and all others alone after them.
"""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from harness.campaign import Case, Plan
from harness.campaign_journal import NOT_MEASURED, CaseResult, Journal
from harness.case_measures import measure
from harness.errors import UnknownRun
from harness.launch import follow, is_live, launch
from harness.results import Outcome
from harness.store import RunDirectory, Store

TIMELESS = ("sdc", "crash")
"""Kinds of faults whose verdicts rest on values and on exits, not on durations.

Stragglers are measured times. Hangs are told after silence, which a busy machine makes
too. A control shows that nobody is blamed while nothing else runs.
"""


class Runs(Protocol):
    """Makes the runs of cases; real ones, unless a test plays them."""

    def start(self, case: Case, root: Path) -> RunDirectory:
        """Start the run of a case in the folder `root`."""

    def wait(self, run: RunDirectory) -> None:
        """Wait until it is over."""

    def is_live(self, run: RunDirectory) -> bool:
        """Whether it goes on."""


class LaunchedRuns:
    """Runs as processes of their own."""

    def start(self, case: Case, root: Path) -> RunDirectory:
        """Launch the case.

        Raises:
            InfrastructureError: it cannot be started.
        """
        return launch(case.scenario, runs_root=root, name=case.scenario_name)

    def wait(self, run: RunDirectory) -> None:
        """Follow its files until its process is gone."""
        for _ in follow(run):
            pass

    def is_live(self, run: RunDirectory) -> bool:
        """Whether its process lives."""
        return is_live(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a campaign is: told before each case, after each, and once at the end."""

    num_done: int
    num_cases: int
    case: Case | None  # that begins now; None: none begins
    last: CaseResult | None  # that is over now; None: none is
    eta_s: float | None  # None: no case has been timed yet
    running: tuple[str, ...] = ()  # ids of the cases that go on


def run_cases(
    plan: Plan,
    journal: Journal,
    finished: Mapping[str, CaseResult],
    *,
    tell: Callable[[Progress], None],
    num_workers: int = 1,
    runs: Runs | None = None,
) -> list[CaseResult]:
    """Run what is missing; returns the results of all cases, in the plan's order.

    Args:
        finished: of the journal; what measured nothing is run again.
        num_workers: cases side by side, where `pool_size` allows it.
        runs: makes the runs; None: launched processes.

    Raises:
        InfrastructureError: a run cannot be started.
    """
    known = {
        case.case_id: finished[case.case_id]
        for case in plan.cases
        if case.case_id in finished
        and finished[case.case_id].outcome not in NOT_MEASURED
    }
    work = _Work(plan, journal, known, tell, runs or LaunchedRuns())
    left = [case for case in plan.cases if case.case_id not in known]
    pooled = [case for case in left if pool_size(case, num_workers) > 1]
    if len(pooled) > 1:
        size = min(pool_size(case, num_workers) for case in pooled)
        with ThreadPoolExecutor(size) as pool:
            slots = _Slots(size)
            list(pool.map(lambda case: slots.use(work.do, case), pooled))
    for case in left:
        if case.case_id not in known:
            work.do(case, 0)
    work.tell_end()
    return [known[case.case_id] for case in plan.cases]


def pool_size(case: Case, num_workers: int, num_cpus: int | None = None) -> int:
    """How many cases like this one may run side by side: 1 where timing matters.

    Where it does not, as many as leave every rank a CPU of its own.
    """
    kinds = {fault.kind.partition(".")[0] for fault in case.scenario.faults}
    if case.is_control or not kinds or not kinds <= set(TIMELESS):
        return 1
    cpus = num_cpus if num_cpus is not None else len(os.sched_getaffinity(0))
    return max(1, min(num_workers, cpus // case.scenario.num_ranks))


class _Slots:
    """Numbers the threads of the pool, so that each has a runs folder of its own."""

    def __init__(self, size: int) -> None:
        self._free = list(range(size))
        self._lock = threading.Lock()

    def use(self, do: Callable[[Case, int], None], case: Case) -> None:
        with self._lock:
            slot = self._free.pop()
        try:
            do(case, slot)
        finally:
            with self._lock:
                self._free.append(slot)


class _Work:
    """Does cases, one or several at a time, and says how far it is."""

    def __init__(
        self, plan: Plan, journal: Journal, known: dict[str, CaseResult],
        tell: Callable[[Progress], None], runs: Runs,
    ) -> None:  # fmt: skip
        self._plan, self._journal, self._known = plan, journal, known
        self._tell, self._runs = tell, runs
        self._last: CaseResult | None = None
        self._running: list[str] = []
        self._lock = threading.Lock()

    def do(self, case: Case, slot: int) -> None:
        """Run one case in a slot and keep its result."""
        with self._lock:
            self._running.append(case.case_id)
            self._say(case)
        run = self._run(case, slot)
        with self._lock:
            self._last = result_of(case, run)
            self._journal.append(self._last)
            self._known[case.case_id] = self._last
            self._running.remove(case.case_id)
            self._say(None)
            self._last = None  # told once

    def tell_end(self) -> None:
        """Say that all is done."""
        with self._lock:
            self._say(None)

    def _run(self, case: Case, slot: int) -> RunDirectory:
        run = _taken_over(case, self._journal, self._runs)
        if run is None:
            run = self._runs.start(case, self._journal.slot(slot))
            self._journal.note_current(case.case_id, run.run_id, slot)
        self._runs.wait(run)
        return _in_its_place(run, self._journal)

    def _say(self, case: Case | None) -> None:
        known = self._known
        left = len(self._plan.cases) - len(known)
        self._tell(
            Progress(
                num_done=len(known),
                num_cases=len(self._plan.cases),
                case=case,
                last=self._last,
                eta_s=eta_s(known.values(), left),
                running=tuple(self._running),
            )
        )


def result_of(case: Case, run: RunDirectory) -> CaseResult:
    """What one run that is over says about its case."""
    unmeasured = CaseResult(
        case_id=case.case_id,
        part=case.part,
        kinds=case.kinds,
        scenario_name=case.scenario_name,
        seed=case.scenario.seed,
        run_id=run.run_id,
        outcome=Outcome.INFRASTRUCTURE,
        reason="the run was killed before its check",
        num_expected=sum(not item.outside_coverage for item in case.scenario.expect),
        num_found=0,
        num_false_blames=0,
        latencies_s=(),
        wall_s=None,
    )
    return read_again(unmeasured, run)


def read_again(result: CaseResult, run: RunDirectory) -> CaseResult:
    """The case with all that its run says of it; the plan's part stays."""
    results = run.results()
    if results is None:
        return result
    incidents = results.incidents
    measures = measure(results, run.reader().read().events)
    return replace(
        result,
        outcome=results.outcome,
        reason=results.reason,
        # What lies outside the coverage counts once it is found.
        num_expected=sum(item.found or item.is_missed for item in incidents)
        if incidents else result.num_expected,
        num_found=sum(item.found for item in incidents),
        num_false_blames=sum(bool(extra.blamed) for extra in results.extras),
        latencies_s=measures.localization_s,
        wall_s=results.wall_s,
        measures=measures,
    )  # fmt: skip


def eta_s(finished: Iterable[CaseResult], num_left: int) -> float | None:
    """Seconds that the rest will take, by the median of what was timed."""
    walls = [item.wall_s for item in finished if item.wall_s is not None]
    return statistics.median(walls) * num_left if walls else None


def _taken_over(case: Case, journal: Journal, runs: Runs) -> RunDirectory | None:
    """The run of this case that an earlier, killed campaign left, if it is of use."""
    for case_id, run_id, slot in journal.current():
        if case_id != case.case_id:
            continue
        for root in (journal.slot(slot), journal.runs):
            try:
                run = Store(root).open(run_id)
            except UnknownRun:
                continue
            results = run.results()
            if runs.is_live(run) or (results and results.outcome not in NOT_MEASURED):
                return run
    return None


def _in_its_place(run: RunDirectory, journal: Journal) -> RunDirectory:
    """A run of a slot, moved to all others once it is over."""
    place = journal.runs / run.run_id
    if run.path != place:
        os.rename(run.path, place)
    return RunDirectory(path=place)


def default_folder(path: Path, kind: str = "campaigns") -> Path:
    """Where a campaign is kept unless told otherwise."""
    return Path(kind) / path.stem
