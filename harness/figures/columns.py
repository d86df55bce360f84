"""Columns of the two heatmaps: grouped by check, folded where there are many. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from harness.figures.strips import TOP_PX, strips, top_px
from harness.figures.style import Figure, axis, layout
from harness.palette import Theme
from harness.views.timeline import Timeline

# Below it the picture scrolls sideways instead of blurring.
MIN_COLUMN_PX = 3
ROW_PX = 30
MIN_ROW_PX = 8
MAX_ROWS_PX = 640
MAX_TICKS = 24
# More columns than this stand without gaps: lines would cover narrow cells.
MAX_GAPPED = 150
# More columns than this are folded: a screen has no more pixels to tell them apart.
MAX_COLUMNS = 400
MAX_SEPARATORS = 60


class Column(Protocol):
    """What both kinds of heatmap column have."""

    @property
    def check(self) -> int:
        """Number of the check."""

    @property
    def step(self) -> int:
        """Step of the check."""

    @property
    def surface(self) -> str:
        """What was compared."""

    @property
    def at_s(self) -> float:
        """When it ended, seconds since the run began."""


class Grid(Protocol):
    """What both kinds of heatmap have: a letter for each rank and column."""

    @property
    def ranks(self) -> Sequence[str]:
        """Names of the rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """One for each check and surface."""

    @property
    def cells(self) -> Sequence[str]:
        """A string a row, a letter a column."""

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """First and last rank of each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpan:
    """The columns `first` to `last` of one check, or one column of several checks."""

    check: int
    step: int
    first: int
    last: int
    last_check: int
    last_step: int


def spans(columns: Sequence[Column]) -> list[CheckSpan]:
    """Consecutive columns of one check, in order."""
    found = []
    start = 0
    for (check, step), members in groupby(columns, key=lambda c: (c.check, c.step)):
        size = sum(1 for _ in members)
        found.append(
            CheckSpan(
                check=check,
                step=step,
                first=start,
                last=start + size - 1,
                last_check=check,
                last_step=step,
            )  # fmt: skip
        )
        start += size
    return found


def folded(found: list[CheckSpan], limit: int = MAX_COLUMNS) -> list[CheckSpan]:
    """Where there are too many columns: one for each check, or for several."""
    per_column = -(-len(found) // limit)
    spans_of = [found[i : i + per_column] for i in range(0, len(found), per_column)]
    return [
        CheckSpan(check=part[0].check, step=part[0].step, first=place, last=place,
                  last_check=part[-1].check, last_step=part[-1].step)
        for place, part in enumerate(spans_of)
    ]  # fmt: skip


def sources(found: list[CheckSpan], limit: int = MAX_COLUMNS) -> list[tuple[int, int]]:
    """First and last column of the grid behind each column of `folded`."""
    per_column = -(-len(found) // limit)
    return [
        (found[i].first, found[min(i + per_column, len(found)) - 1].last)
        for i in range(0, len(found), per_column)
    ]


def gap(num_columns: int) -> int:
    """Pixels between two columns."""
    return 1 if num_columns <= MAX_GAPPED else 0


def ticks(found: list[CheckSpan]) -> dict[str, Any]:
    """Axis ticks at the middle of each check; thinned out when there are many."""
    every = max(1, -(-len(found) // MAX_TICKS))
    shown = found[::every]
    return {
        "tickvals": [(span.first + span.last) / 2 for span in shown],
        "ticktext": [f"check {s.check}<br>step {s.step}" for s in shown],
    }


def separators(found: list[CheckSpan], theme: Theme) -> list[dict[str, Any]]:
    """A line between one check and the next, where there is room for lines."""
    if len(found) > MAX_SEPARATORS:
        return []
    return [
        {
            "type": "line", "xref": "x", "yref": "paper", "x0": span.first - 0.5,
            "x1": span.first - 0.5, "y0": 0, "y1": 1,
            "line": {"color": theme["ink-3"], "width": 1.5},
        }
        for span in found[1:]
    ]  # fmt: skip


def grid_layout(
    theme: Theme,
    ranks: Sequence[str],
    found: list[CheckSpan],
    timeline: Timeline | None,
    meta: dict[str, Any],
) -> dict[str, Any]:
    """Layout of a heatmap; `meta.min_width` is where sideways scrolling begins.

    Ranges are explicit, rank0 on top: with automatic ones Plotly would keep those of
    the empty picture that stood there before the first check.
    """
    rows = max(1, len(ranks))
    num_columns = found[-1].last + 1 if found else 0
    row_px = max(MIN_ROW_PX, min(ROW_PX, MAX_ROWS_PX // rows))
    top = top_px(timeline) if timeline else TOP_PX
    drawn, names = ([], []) if timeline is None else strips(
        found, timeline, theme, row_px * rows
    )  # fmt: skip
    return layout(
        theme,
        top + 50 + row_px * rows,
        margin={"l": 64, "r": 16, "t": top, "b": 50},
        meta={"min_width": 96 + MIN_COLUMN_PX * num_columns, **meta},
        xaxis=axis(
            theme,
            showgrid=False,
            range=[-0.5, max(1, num_columns) - 0.5],
            **ticks(found),
        ),
        yaxis=axis(
            theme, showgrid=False, type="category", range=[rows - 0.5, -0.5],
            categoryorder="array", categoryarray=list(ranks), fixedrange=True,
            # Names closer than their own height would run into each other.
            tickvals=list(ranks)[:: -(-14 // row_px)],
        ),
        shapes=[*separators(found, theme), *drawn],
        annotations=names,
    )  # fmt: skip


def middles(row: str, char: str, found: list[CheckSpan]) -> list[float]:
    """Middle of every unbroken stretch of `char` within one check: a mark for each.

    Cells can be narrower than a mark, and a mark on each would hide their colour.
    """
    places = []
    for span in found:
        start: int | None = None
        for column in range(span.first, span.last + 2):
            inside = column <= span.last and row[column] == char
            if inside and start is None:
                start = column
            elif not inside and start is not None:
                places.append((start + column - 1) / 2)
                start = None
    return places


def mark_traces(
    ranks: Sequence[str],
    cells: Sequence[str],
    found: list[CheckSpan],
    marks: Sequence[tuple[str, str, str, str]],
) -> list[dict[str, Any]]:
    """The marks on a heatmap; `marks` has (cell, name, symbol, colour)."""
    traces = []
    for char, name, symbol, color in marks:
        points = [
            (x, rank)
            for rank, row in zip(ranks, cells, strict=True)
            for x in middles(row, char, found)
        ]
        if points:
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "hoverinfo": "skip",
                    "name": name,
                    "x": [x for x, _ in points],
                    "y": [rank for _, rank in points],
                    "marker": {"symbol": symbol, "size": 9, "color": color,
                               "line": {"width": 2, "color": color}},
                }
            )  # fmt: skip
    return traces


def grid_figure(
    theme: Theme,
    grid: Grid | None,
    draw: Callable[[list[list[int]]], dict[str, Any]],
    marks: Sequence[tuple[str, str, str, str]],
    timeline: Timeline,
    worst: Callable[[int, int, int], int],
) -> Figure:
    """One group's picture: cells, marks over them; empty where `grid` is None.

    Args:
        draw: the heatmap, for the grid's column that each row and column shows.
        worst: of (row, first, last column) the column that speaks for all of them.
    """
    if grid is None:
        return {"data": [], "layout": grid_layout(theme, (), [], None, {})}
    found = spans(grid.columns)
    behind = [(number, number) for number in range(len(grid.columns))]
    if len(grid.columns) > MAX_COLUMNS:
        behind, found = sources(found), folded(found)
    shown = [[a if a == b else worst(row, a, b) for a, b in behind]
             for row in range(len(grid.ranks))]  # fmt: skip
    cells = ["".join(grid.cells[row][n] for n in numbers)
             for row, numbers in enumerate(shown)]  # fmt: skip
    meta = {
        "columns": [
            [a, b, grid.columns[a].check, grid.columns[b].check] for a, b in behind
        ],
        "at_s": [round(grid.columns[a].at_s, 4) for a, _ in behind],
        "rows": [list(span) for span in grid.spans],
        "surfaces": [grid.columns[a].surface for a, _ in behind],
    }
    return {
        "data": [draw(shown), *mark_traces(grid.ranks, cells, found, marks)],
        "layout": grid_layout(theme, grid.ranks, found, timeline, meta),
    }


def cell_trace(
    grid: Grid,
    shown: list[list[int]],
    value: Callable[[int, int], Any],
    hover: Callable[[int, int], str],
    *,
    limits: tuple[float, float],
    colorscale: list[list[Any]],
) -> dict[str, Any]:
    """The heatmap: value and hover text of the column that each cell shows."""
    num_columns = len(shown[0]) if shown else 0
    return {
        "type": "heatmap",
        "name": "cells",
        "x": list(range(num_columns)),
        "y": list(grid.ranks),
        "z": [[value(row, n) for n in numbers] for row, numbers in enumerate(shown)],
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": colorscale,
        "showscale": False,
        "xgap": gap(num_columns),
        "ygap": 2 if len(grid.ranks) <= 32 else 1,
        "text": [[hover(row, n) for n in numbers] for row, numbers in enumerate(shown)],
        "hovertemplate": "%{text}<extra></extra>",
    }
