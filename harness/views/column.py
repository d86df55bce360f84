"""One comparison in full: every rank's value of one surface of one check. Pure.

Called by the run page when a cell is chosen; a heatmap has colours, this has the
numbers behind them.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.views import evidence as ev
from harness.views import timing as tm
from harness.views.cards import StatisticView
from harness.views.folding import Zoom
from harness.views.source import RunFacts

MAX_SHOWN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCell:
    """One rank, or one band of ranks."""

    name: str
    first: int
    last: int
    word: str
    value: str
    is_marked: bool
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One surface or timed interval of one check."""

    kind: str  # evidence or timing
    group: str
    check: int
    step: int
    surface: str
    layer: str
    status: str
    note: str  # votes, or the median
    statistic: StatisticView | None
    problem: str
    cells: tuple[ColumnCell, ...]
    num_ranks: int


def column(
    facts: RunFacts, *, kind: str, group: int, check: int, surface: str, rank: int
) -> ColumnView | None:
    """The comparison of `surface` in `check` of the group-th group; None: no such one.

    Args:
        kind: evidence or timing.
        rank: chosen one; larger groups show the ranks around it.
    """
    first = max(0, rank - rank % MAX_SHOWN)
    zoom = Zoom(checks=(check, check), ranks=(first, first + MAX_SHOWN - 1))
    if kind == "evidence":
        grids = ev.evidence(facts, zoom)
        return _signatures(grids[group], surface, rank) if group < len(grids) else None
    timings = tm.timing(facts, zoom)
    return _seconds(timings[group], surface, rank) if group < len(timings) else None


def _signatures(grid: ev.EvidenceGrid, surface: str, rank: int) -> ColumnView | None:
    for number, item in enumerate(grid.columns):
        if item.surface == surface:
            return ColumnView(
                kind="evidence", group=grid.group, check=item.check, step=item.step,
                surface=item.surface, layer=item.layer, status=item.status,
                note=f"{item.votes_text} agree", statistic=None, problem=item.problem,
                cells=tuple(
                    _cell(grid.ranks[row], grid.spans[row],
                          ev.CELL_WORDS[chars[number]],
                          grid.values[row][number] or "no signature",
                          chars[number] not in (ev.AGREES, ev.NOT_COMPARED), rank)
                    for row, chars in enumerate(grid.cells)
                ),
                num_ranks=item.n,
            )  # fmt: skip
    return None


def _seconds(grid: tm.TimingGrid, surface: str, rank: int) -> ColumnView | None:
    for number, item in enumerate(grid.columns):
        if item.surface == surface:
            return ColumnView(
                kind="timing", group=grid.group, check=item.check, step=item.step,
                surface=item.surface, layer=item.layer, status=item.status,
                note=f"median {item.median_text}", statistic=item.statistic, problem="",
                cells=tuple(
                    _cell(grid.ranks[row], grid.spans[row],
                          tm.CELL_WORDS[chars[number]],
                          grid.charged_text[row][number],
                          chars[number] not in (tm.WITHIN, ev.NOT_COMPARED), rank)
                    for row, chars in enumerate(grid.cells)
                ),
                num_ranks=grid.num_ranks,
            )  # fmt: skip
    return None


def _cell(
    name: str, span: tuple[int, int], word: str, value: str, is_marked: bool, rank: int
) -> ColumnCell:
    return ColumnCell(
        name=name, first=span[0], last=span[1], word=word, value=value,
        is_marked=is_marked, is_chosen=span[0] <= rank <= span[1],
    )  # fmt: skip
