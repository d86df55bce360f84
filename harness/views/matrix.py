"""The cases of a suite as a matrix: scenario and variant × seed. Pure.

Called by the terminal, the page and the reports of a qualification, so that all show
the same cells. A state is a glyph and a word, never a colour alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.qualification import PLANNED, CaseRow, Qualification

RUNNING = "running"
GLYPHS = {
    "pass": "✓",
    "fail": "✕",
    "inconclusive": "≠",
    "not-injected": "○",
    "infrastructure-error": "!",
    "cancelled": "–",
    RUNNING: "●",
    PLANNED: "·",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One case."""

    case_id: str
    seed: int
    status: str  # an outcome, running or planned
    glyph: str
    reason: str
    run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One scenario in one variant, with every seed."""

    name: str
    scenario_name: str
    fault_class: str
    settings: tuple[str, ...]
    cells: tuple[MatrixCell, ...]


def build(
    report: Qualification, running: Collection[str] = ()
) -> tuple[MatrixRow, ...]:
    """Rows in the order of the suite.

    Args:
        running: ids of the cases that run now.
    """
    rows: dict[str, list[CaseRow]] = {}
    for case in report.cases:
        rows.setdefault(case.row, []).append(case)
    return tuple(
        MatrixRow(
            name=name,
            scenario_name=cases[0].scenario_name,
            fault_class=cases[0].fault_class,
            settings=cases[0].settings,
            cells=tuple(_cell(case, case.case_id in running) for case in cases),
        )
        for name, cases in rows.items()
    )


def _cell(case: CaseRow, is_running: bool) -> MatrixCell:
    status = RUNNING if is_running and case.status == PLANNED else case.status
    return MatrixCell(
        case_id=case.case_id,
        seed=case.seed,
        status=status,
        glyph=GLYPHS[status],
        reason="" if status == "pass" else case.reason,
        run_id=case.run_id,
    )
