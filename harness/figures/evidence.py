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
_SEVERITY = (ev.NOT_COMPARED, ev.AGREES, ev.MISSING, ev.UNDECIDED, ev.OUTLIER)
_FILLS = ("cell-agree", "cell-outlier", "cell-undecided", "cell-missing", "cell-none")


def figure(view: RunView, theme: Theme, group: int = 0) -> style.Figure:
    """The picture of the group-th grid; an empty one while there is no evidence."""
    grid = view.evidence[group] if group < len(view.evidence) else None
    return columns.grid_figure(
        theme,
        grid,
        lambda shown: _cells(view.evidence[group], shown, theme),
        _marks(theme),
        view.timeline,
        lambda row, first, last: _worst(view.evidence[group], row, first, last),
    )


def _worst(grid: ev.EvidenceGrid, row: int, first: int, last: int) -> int:
    part = grid.cells[row][first : last + 1]
    if not part.strip(ev.AGREES):
        return first
    return first + max(range(len(part)), key=lambda i: _SEVERITY.index(part[i]))


def colorscale(fills: tuple[str, ...], theme: Theme) -> list[list[Any]]:
    """A stepped scale: level i of n has the i-th fill."""
    scale: list[list[Any]] = []
    for level, name in enumerate(fills):
        scale.append([level / len(fills), theme[name]])
        scale.append([(level + 1) / len(fills), theme[name]])
    return scale


def _cells(
    grid: ev.EvidenceGrid, shown: list[list[int]], theme: Theme
) -> dict[str, Any]:
    num_cells = sum(len(numbers) for numbers in shown)
    return columns.cell_trace(
        grid,
        shown,
        lambda row, number: _LEVELS[grid.cells[row][number]],
        lambda row, number: _hover(grid, row, number, num_cells),
        limits=(-0.5, 4.5),
        colorscale=colorscale(_FILLS, theme),
    )


def _hover(grid: ev.EvidenceGrid, row: int, number: int, num_cells: int) -> str:
    column = grid.columns[number]
    agrees = grid.cells[row][number] == ev.AGREES
    if agrees and num_cells > MAX_FULL_HOVERS:
        return f"{column.surface}<br>check {column.check} · step {column.step}"
    value = grid.values[row][number]
    place = f" · {column.layer}" if column.layer else ""
    lines = [
        f"<b>{grid.ranks[row]}</b> {ev.CELL_WORDS[grid.cells[row][number]]}",
        f"{column.surface}{place}",
        f"{column.votes_text} agree · {column.status}",
        f"check {column.check} · step {column.step}",
    ]
    if grid.spans[row][0] == grid.spans[row][1]:
        lines.insert(2, f"signature {value}" if value else "no signature")
    elif column.num_marked:
        more = column.num_marked - len(column.marked)
        named = ", ".join(column.marked) + (f" and {more} more" if more else "")
        lines.insert(2, f"outliers: {named}")
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
