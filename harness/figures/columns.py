"""Columns of the two heatmaps: grouped by check, banded by injection. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from harness.figures.style import Figure, axis, band_label, layout
from harness.palette import Theme
from harness.views.timeline import Band

# Below it the picture scrolls sideways instead of blurring.
MIN_COLUMN_PX = 3
ROW_PX = 30
MAX_TICKS = 24
# More columns than this stand without gaps: lines would cover narrow cells.
MAX_GAPPED = 150


class Column(Protocol):
    """What both kinds of heatmap column have."""

    @property
    def check(self) -> int:
        """Number of the check."""

    @property
    def step(self) -> int:
        """Step of the check."""


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
        """A string a rank, a letter a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpan:
    """The columns `first` to `last` of one check."""

    check: int
    step: int
    first: int
    last: int


def spans(columns: Sequence[Column]) -> list[CheckSpan]:
    """Consecutive columns of one check, in order."""
    found = []
    start = 0
    for (check, step), members in groupby(columns, key=lambda c: (c.check, c.step)):
        size = sum(1 for _ in members)
        found.append(
            CheckSpan(check=check, step=step, first=start, last=start + size - 1)
        )
        start += size
    return found


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
    """A line between one check and the next."""
    return [
        {
            "type": "line", "xref": "x", "yref": "paper", "x0": span.first - 0.5,
            "x1": span.first - 0.5, "y0": 0, "y1": 1,
            "line": {"color": theme["ink-3"], "width": 1.5},
        }
        for span in found[1:]
    ]  # fmt: skip


def injection_strips(
    found: list[CheckSpan], bands: Sequence[Band], theme: Theme
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(shapes, labels) above the checks that were made while a fault was active."""
    shapes: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for band in bands:
        inside = [span for span in found if _is_inside(span, band)]
        if not inside:
            continue
        left, right = inside[0].first - 0.5, inside[-1].last + 0.5
        shapes.append(
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right,
                "y0": 1.01, "y1": 1.05, "fillcolor": band.color, "line": {"width": 0},
            }
        )  # fmt: skip
        late = left > 0.6 * (found[-1].last + 1)
        labels.append(band_label(band, theme, 1.06, left, right, is_late=late))
    return shapes, labels


def grid_layout(
    theme: Theme,
    ranks: Sequence[str],
    num_columns: int,
    found: list[CheckSpan],
    bands: Sequence[Band],
) -> dict[str, Any]:
    """Layout of a heatmap; `meta.min_width` is where sideways scrolling begins.

    Ranges are explicit, rank0 on top: with automatic ones Plotly would keep those of
    the empty picture that stood there before the first check.
    """
    rows = max(1, len(ranks))
    strips, labels = injection_strips(found, bands, theme)
    return layout(
        theme,
        28 + 52 + ROW_PX * rows,
        margin={"l": 64, "r": 16, "t": 30, "b": 44},
        meta={"min_width": 96 + MIN_COLUMN_PX * num_columns},
        xaxis=axis(
            theme,
            showgrid=False,
            range=[-0.5, max(1, num_columns) - 0.5],
            **ticks(found),
        ),
        yaxis=axis(
            theme, showgrid=False, type="category", range=[rows - 0.5, -0.5],
            categoryorder="array", categoryarray=list(ranks), fixedrange=True,
        ),
        shapes=[*separators(found, theme), *strips],
        annotations=labels,
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


def _is_inside(span: CheckSpan, band: Band) -> bool:
    if band.from_step is None:
        return False
    after = band.to_step is not None and span.step > band.to_step
    return span.step >= band.from_step and not after


def grid_figure(
    theme: Theme,
    grid: Grid | None,
    cells: Callable[[], dict[str, Any]],
    marks: Sequence[tuple[str, str, str, str]],
    bands: Sequence[Band],
) -> Figure:
    """One group's picture: `cells`, `marks` over them; empty where `grid` is None."""
    if grid is None:
        return {"data": [], "layout": grid_layout(theme, (), 0, [], ())}
    found = spans(grid.columns)
    return {
        "data": [cells(), *mark_traces(grid.ranks, grid.cells, found, marks)],
        "layout": grid_layout(theme, grid.ranks, len(grid.columns), found, bands),
    }


def cell_trace(
    grid: Grid,
    values: list[list[Any]],
    hover: Callable[[int, int], str],
    *,
    limits: tuple[float, float],
    colorscale: list[list[Any]],
) -> dict[str, Any]:
    """The heatmap of a grid: a value and a hover text for each (row, column)."""
    numbers = range(len(grid.columns))
    return {
        "type": "heatmap",
        "name": "cells",
        "x": list(numbers),
        "y": list(grid.ranks),
        "z": values,
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": colorscale,
        "showscale": False,
        "xgap": gap(len(grid.columns)),
        "ygap": 2,
        "text": [
            [hover(row, number) for number in numbers] for row in range(len(grid.ranks))
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
