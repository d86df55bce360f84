"""A qualification from its suite file to its reports, on top of the campaign machinery.

    1 plan       harness.campaign, with controls and criteria mandatory
    2 take       OUT/ (harness.campaign_journal): one at a time, resumes after any kill
    3 record     OUT/suite.json: what is to be done, so that reports need no file again
    4 run        harness.campaign_run: case by case, each kept when it is over
    5 report     OUT/report.*: every format from one value, and report.zip with evidence

Called by the `qualify` command; the dashboard starts that command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import suite_record
from harness.campaign import Plan, plan
from harness.campaign_journal import CaseResult, Journal
from harness.campaign_run import Progress, Runs, run_cases
from harness.qualification import Qualification, build


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for."""

    suite: Path
    folder: Path
    command: str  # repeats it
    resume: bool = False
    num_workers: int = 1


def load(folder: Path) -> Qualification:
    """The report of a folder as it stands, running or over.

    Raises:
        UsageError: the folder is no qualification.
    """
    return build(suite_record.read(folder), Journal(folder).finished())


def qualify(
    order: Order,
    *,
    tell: Callable[[Qualification, Progress], None],
    runs: Runs | None = None,
) -> Qualification:
    """Run what is missing of the suite; returns its report.

    Args:
        runs: makes the runs; None: launched processes.

    Raises:
        ScenarioError: the suite cannot be used.
        UsageError: the folder is taken, or holds another suite.
        InfrastructureError: a run cannot be started.
        OSError: the folder cannot be written.
    """
    planned = plan(order.suite, to_qualify=True)
    journal = Journal(order.folder)
    try:
        finished = journal.open(planned.digest, resume=order.resume)
        record = _record(planned, order)
        known: dict[str, CaseResult] = dict(finished)

        def pass_on(progress: Progress) -> None:
            if progress.last is not None:
                known[progress.last.case_id] = progress.last
            tell(build(record, known), progress)

        run_cases(planned, journal, finished, tell=pass_on,
                  num_workers=order.num_workers, runs=runs)  # fmt: skip
        return build(record, journal.finished())
    finally:
        journal.close()


def _record(planned: Plan, order: Order) -> suite_record.SuiteRecord:
    """The folder's record; a resumed suite keeps that of its first start."""
    if (order.folder / suite_record.FILE).exists():
        return suite_record.read(order.folder)
    record = suite_record.record_of(
        planned,
        name=order.suite.stem,
        command=order.command,
        num_workers=order.num_workers,
    )
    suite_record.write(order.folder, record)
    return record
