"""The coverage contract as rows of a table: kind and surface × lifetime. Pure.

Called by the dashboard's page and by the report; the contract itself is
`harness.coverage`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.coverage import ALWAYS_OUTSIDE, COVERAGE, LIFETIMES, Cell, Grade
from injectors.registry import FAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageCell:
    """One lifetime of a row; `grade` None where the fault has no such lifetime."""

    lifetime: str
    grade: Grade | None
    scenarios: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """One kind of fault on one surface."""

    kind: str
    proves: str
    surface: str
    cells: tuple[CoverageCell, ...]  # one for each of `lifetimes`


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageView:
    """The page."""

    lifetimes: tuple[str, ...]
    rows: tuple[CoverageRow, ...]
    always_outside: tuple[str, ...]


def build(kinds: Iterable[str] | None = None) -> CoverageView:
    """The rows of the given kinds, in table order; None: of all."""
    wanted = None if kinds is None else set(kinds)
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in COVERAGE:
        if wanted is None or cell.kind in wanted:
            found.setdefault((cell.kind, cell.surface), {})[cell.lifetime] = cell
    return CoverageView(
        lifetimes=LIFETIMES,
        rows=tuple(_row(*key, cells) for key, cells in found.items()),
        always_outside=ALWAYS_OUTSIDE,
    )


def _row(kind: str, surface: str, cells: dict[str, Cell]) -> CoverageRow:
    return CoverageRow(
        kind=kind,
        proves=FAULTS[kind].proves if kind in FAULTS else "",
        surface=surface,
        cells=tuple(_cell(name, cells.get(name)) for name in LIFETIMES),
    )


def _cell(lifetime: str, cell: Cell | None) -> CoverageCell:
    return CoverageCell(
        lifetime=lifetime,
        grade=cell.grade if cell else None,
        scenarios=cell.scenarios if cell else (),
        reason=cell.reason if cell else "",
    )
