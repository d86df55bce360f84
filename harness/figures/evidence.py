"""C3's evidence of one peer group: ranks × (check, surface). Pure.

A clean run's picture is full of agreement, not empty. Outliers carry a ✕, missing
values a ring, undecided ones a ≠: colour is never the only sign.
"""

from __future__ import annotations

from typing import Any

from harness.figures import columns, style
from harness.palette import Theme
from harness.views import evidence as ev
from harness.views.run import RunView

# Above this many cells those that agree say only where they are: a refresh of a long
# run stays below a megabyte or two; the JSON report has every signature.
MAX_FULL_HOVERS = 8_000
_LEVELS = {
    ev.AGREES: 0,
    ev.OUTLIER: 1,
    ev.UNDECIDED: 2,
    ev.MISSING: 3,
    ev.NOT_COMPARED: 4,
}
_FILLS = ("cell-agree", "cell-outlier", "cell-undecided", "cell-missing", "cell-none")


def figure(view: RunView, theme: Theme, group: int = 0) -> style.Figure:
    """The picture of the group-th grid; an empty one while there is no evidence."""
    if group >= len(view.evidence):
        return {"data": [], "layout": columns.grid_layout(theme, (), 0, [], ())}
    grid = view.evidence[group]
    spans = columns.spans(grid.columns)
    return {
        "data": [
            _cells(grid, theme),
            *columns.mark_traces(grid.ranks, grid.cells, spans, _marks(theme)),
        ],
        "layout": columns.grid_layout(
            theme, grid.ranks, len(grid.columns), spans, view.timeline.bands
        ),
    }


def colorscale(fills: tuple[str, ...], theme: Theme) -> list[list[Any]]:
    """A stepped scale: level i of n has the i-th fill."""
    scale: list[list[Any]] = []
    for level, name in enumerate(fills):
        scale.append([level / len(fills), theme[name]])
        scale.append([(level + 1) / len(fills), theme[name]])
    return scale


def _cells(grid: ev.EvidenceGrid, theme: Theme) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": "cells",
        "x": list(range(len(grid.columns))),
        "y": list(grid.ranks),
        "z": [[_LEVELS[char] for char in row] for row in grid.cells],
        "zmin": -0.5,
        "zmax": 4.5,
        "colorscale": colorscale(_FILLS, theme),
        "showscale": False,
        "xgap": columns.gap(len(grid.columns)),
        "ygap": 2,
        "text": [
            [_hover(grid, row, column) for column in range(len(grid.columns))]
            for row in range(len(grid.ranks))
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(grid: ev.EvidenceGrid, row: int, number: int) -> str:
    column = grid.columns[number]
    agrees = grid.cells[row][number] == ev.AGREES
    if agrees and len(grid.columns) * len(grid.ranks) > MAX_FULL_HOVERS:
        return f"{column.surface}<br>check {column.check} · step {column.step}"
    value = grid.values[row][number]
    place = f" · {column.layer}" if column.layer else ""
    lines = [
        f"<b>{grid.ranks[row]}</b> {ev.CELL_WORDS[grid.cells[row][number]]}",
        f"{column.surface}{place}",
        f"signature {value}" if value else "no signature",
        f"{column.votes_text} agree · {column.status}",
        f"check {column.check} · step {column.step}",
    ]
    if column.problem:
        lines.append(column.problem)
    return "<br>".join(lines)


def _marks(theme: Theme) -> list[tuple[str, str, str, str]]:
    outlier, mark = theme["on-outlier"], theme["mark"]
    return [
        (ev.OUTLIER, ev.CELL_WORDS[ev.OUTLIER], "x-thin-open", outlier),
        (ev.UNDECIDED, ev.CELL_WORDS[ev.UNDECIDED], "diamond-open", mark),
        (ev.MISSING, ev.CELL_WORDS[ev.MISSING], "circle-open", mark),
    ]
