"""Timings of one peer group: ranks × (check, timed interval). Pure.

Colour is the share of the way from the median to C3's threshold, so that noise stays
pale. A triangle marks what is past the threshold, up for slower, down for faster.
"""

from __future__ import annotations

from typing import Any

from harness.figures import columns, style
from harness.palette import Theme
from harness.views import evidence as ev
from harness.views import timing as tm
from harness.views.run import RunView


def figure(view: RunView, theme: Theme, group: int = 0) -> style.Figure:
    """The picture of the group-th grid; an empty one while there is no evidence."""
    grid = view.timing[group] if group < len(view.timing) else None
    return columns.grid_figure(
        theme,
        grid,
        lambda shown: _cells(view.timing[group], shown, theme),
        _marks(theme),
        view.timeline,
        lambda row, first, last: _worst(view.timing[group], row, first, last),
    )


def _worst(grid: tm.TimingGrid, row: int, first: int, last: int) -> int:
    """The column furthest towards its threshold; what is missing comes first."""
    shares = [share(s, column) for s, column in zip(
        grid.charged_s[row][first : last + 1], grid.columns[first : last + 1],
        strict=True)]  # fmt: skip
    key = [2.0 if s is None else s for s in shares]
    return first + key.index(max(key))


def share(value: float | None, column: tm.TimingColumn) -> float | None:
    """0 at the median, 1 at the threshold and beyond, below 0 where faster.

    None where the value, the median or the threshold is missing.
    """
    middle = column.median_s
    limit = column.statistic.threshold if column.statistic else None
    if value is None or middle is None or limit is None or limit <= middle:
        return None
    return max(-1.0, min(1.0, (value - middle) / (limit - middle)))


def _cells(grid: tm.TimingGrid, shown: list[list[int]], theme: Theme) -> dict[str, Any]:
    fills = ((0.0, "cell-fast"), (0.5, "cell-agree"), (1.0, "cell-slow"))
    return columns.cell_trace(
        grid,
        shown,
        lambda row, n: share(grid.charged_s[row][n], grid.columns[n]),
        lambda row, n: _hover(grid, row, n),
        limits=(-1.0, 1.0),
        colorscale=[[at, theme[name]] for at, name in fills],
    )


def _hover(grid: tm.TimingGrid, row: int, number: int) -> str:
    column = grid.columns[number]
    place = f" · {column.layer}" if column.layer else ""
    lines = [
        f"<b>{grid.ranks[row]}</b> {tm.CELL_WORDS[grid.cells[row][number]]}",
        f"{column.surface}{place}",
        f"{grid.charged_text[row][number]}, median {column.median_text}",
        f"check {column.check} · step {column.step} · {column.status}",
    ]
    if column.statistic is not None:
        s = column.statistic
        lines.append(f"{s.name} {s.value_text}, threshold {s.threshold_text}")
    return "<br>".join(lines)


def _marks(theme: Theme) -> list[tuple[str, str, str, str]]:
    symbols = {
        tm.SLOWER: "triangle-up",
        tm.FASTER: "triangle-down",
        ev.UNDECIDED: "diamond-open",
        ev.MISSING: "circle-open",
    }
    return [
        (char, tm.CELL_WORDS[char], symbol, theme["mark"])
        for char, symbol in symbols.items()
    ]
