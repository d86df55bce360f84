"""A qualification's report as one value: every format prints it, none computes. Pure.

    suite.json + cases.jsonl ─build─► Qualification ─► html pdf json csv junit ctrf ocp

Called by the `qualify` and `verify` commands and by the dashboard. Says pass, fail or
inconclusive against the criteria that the suite states (`harness.criteria`), each
figure with its interval and the cases behind it, and what was not covered.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.campaign_journal import NOT_MEASURED, CaseResult
from harness.case_measures import Mark
from harness.coverage import ALWAYS_OUTSIDE, COVERAGE, Grade
from harness.criteria import EXIT_CODES, Ruling, overall
from harness.qualification_figures import ClassRow, class_row
from harness.qualification_rulings import Judgement, judge
from harness.suite_record import CONTROLS, PlannedCase, SuiteRecord
from harness.views import wording

PLANNED = "planned"  # status of a case that has not run yet
_MENTION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One case, run or not."""

    case_id: str
    fault_class: str
    row: str
    scenario_name: str
    seed: int
    settings: tuple[str, ...]
    status: str  # an outcome, or `planned`
    reason: str
    run_id: str | None
    num_expected: int
    num_found: int
    num_false_blames: int
    detection_s: tuple[float, ...]
    localization_s: tuple[float, ...]
    wall_s: float | None
    started_ns: int | None
    marks: tuple[Mark, ...]
    command: str  # repeats this one run, from the qualification's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCovered:
    """A promise of the coverage contract that this suite says nothing about."""

    kind: str
    surface: str
    lifetime: str
    grade: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """The whole report."""

    name: str
    title: str
    description: str
    ruling: Ruling
    reason: str
    judgements: tuple[Judgement, ...]
    classes: tuple[ClassRow, ...]  # by name; `controls` last
    cases: tuple[CaseRow, ...]
    num_planned: int
    num_finished: int
    outcomes: dict[str, int]
    not_covered: tuple[NotCovered, ...]
    never_covered: tuple[str, ...]
    digest: str
    command: str
    created: str
    commit: str
    dirty: bool
    host: str
    versions: dict[str, str]
    num_workers: int
    format: int = 1

    @property
    def exit_code(self) -> int:
        """Of the command: 0 pass, 1 fail, 2 inconclusive."""
        return EXIT_CODES[self.ruling]


def build(suite: SuiteRecord, results: Mapping[str, CaseResult]) -> Qualification:
    """The report of a suite, finished or not.

    Args:
        results: of the journal, by case id; cases of no plan are left out.
    """
    done = {case.case_id: results[case.case_id] for case in suite.cases
            if case.case_id in results}  # fmt: skip
    names = dict.fromkeys(sorted(
        case.fault_class for case in suite.cases if not case.is_control
    ))  # fmt: skip
    classes = tuple(
        class_row(
            name,
            [case for case in suite.cases if case.fault_class == name],
            done,
        )
        for name in (*names, CONTROLS)
    )
    judgements = judge(suite.criteria, classes, len(suite.cases), done)
    ruling = overall([item.ruling for item in judgements])
    rows = tuple(_case_row(case, done.get(case.case_id)) for case in suite.cases)
    outcomes: dict[str, int] = {}
    for row in rows:
        outcomes[row.status] = outcomes.get(row.status, 0) + 1
    return Qualification(
        name=suite.name,
        title=suite.title,
        description=suite.description,
        ruling=ruling,
        reason=_reason(ruling, judgements),
        judgements=judgements,
        classes=classes,
        cases=rows,
        num_planned=len(suite.cases),
        num_finished=sum(item.outcome not in NOT_MEASURED for item in done.values()),
        outcomes=dict(sorted(outcomes.items())),
        not_covered=_not_covered(suite.cases),
        never_covered=ALWAYS_OUTSIDE,
        digest=suite.digest,
        command=suite.command,
        created=wording.utc(suite.created_wall_ns),
        commit=suite.commit,
        dirty=suite.dirty,
        host=suite.host,
        versions=suite.versions,
        num_workers=suite.num_workers,
    )


def _reason(ruling: Ruling, judgements: Sequence[Judgement]) -> str:
    decisive = [item for item in judgements if item.ruling is ruling]
    if ruling is Ruling.PASS:
        return f"all {len(judgements)} criteria are met"
    texts = [f"{item.subject}: {item.label} {item.figure_text}, {item.limit_text}"
             for item in decisive[:_MENTION]]  # fmt: skip
    more = len(decisive) - _MENTION
    return "; ".join([*texts, *([f"and {more} more"] if more > 0 else [])])


def _case_row(case: PlannedCase, result: CaseResult | None) -> CaseRow:
    measures = result.measures if result else None
    return CaseRow(
        case_id=case.case_id,
        fault_class=case.fault_class,
        row=case.row,
        scenario_name=case.scenario_name,
        seed=case.seed,
        settings=case.settings,
        status=result.outcome.value if result else PLANNED,
        reason=result.reason if result else "has not run yet",
        run_id=result.run_id if result else None,
        num_expected=result.num_expected if result else case.promises,
        num_found=result.num_found if result else 0,
        num_false_blames=result.num_false_blames if result else 0,
        detection_s=measures.detection_s if measures else (),
        localization_s=measures.localization_s if measures else (),
        wall_s=result.wall_s if result else None,
        started_ns=measures.started_ns if measures else None,
        marks=measures.marks if measures else (),
        command=_command(case, result),
    )


def _command(case: PlannedCase, result: CaseResult | None) -> str:
    if result is not None:
        return f"faultyard run runs/{result.run_id}/scenario.yaml"
    words = ["faultyard", "run", case.scenario_name, "--seed", str(case.seed)]
    for setting in case.settings:
        words += ["--set", setting]
    return shlex.join(words)


def _not_covered(cases: Sequence[PlannedCase]) -> tuple[NotCovered, ...]:
    shown = {case.scenario_name for case in cases}
    found = []
    for cell in COVERAGE:
        if shown & set(cell.scenarios):
            continue
        if cell.grade is Grade.OUTSIDE:
            why = f"not promised: {cell.reason}"
        elif cell.scenarios:
            why = f"shown by {', '.join(cell.scenarios)}, not in this suite"
        else:
            why = f"no scenario of its own: {cell.reason}"
        found.append(
            NotCovered(
                kind=cell.kind,
                surface=cell.surface,
                lifetime=cell.lifetime,
                grade=cell.grade.value,
                why=why,
            )
        )
    return tuple(found)
