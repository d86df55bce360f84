"""Packets of every path beside its threshold, as per cent of its fair share. Pure.

leaf0 → leaf1   |      x          |t  o λ o o
                counts / lambda, a row a pair of leaves, a mark a spine
"""

from __future__ import annotations

from typing import Any

from harness.figures import style
from harness.palette import Theme
from harness.views.fabric import (
    FAILING,
    PASSING,
    UNMEASURED,
    FabricView,
    PathRow,
    percent_of_expected,
)
from harness.views.run import RunView

MAX_ROWS = 48  # those with a failing path first; the table has more
# state, symbol, colour
_STATES = (
    (PASSING, "circle", "good"),
    (UNMEASURED, "circle-open", "unknown"),
    (FAILING, "x", "bad"),
)


def figure(view: RunView, theme: Theme) -> style.Figure:
    """One row for each pair of leaves that was measured."""
    rows = _chosen(view.fabric)
    names = [_name(row) for row in rows]
    points = [point for row in rows for point in _points(row)]
    values = [point[1] for point in points] + [t for row in rows if (t := _limit(row))]
    low, high = min(values, default=99.0), max(values, default=101.0)
    pad = max(0.3, 0.12 * (high - low))
    data: list[dict[str, Any]] = [_thresholds(rows, theme)]
    for state, symbol, color in _STATES:
        data.append(_marks([p for p in points if p[3] == state], symbol, theme[color]))
    return {
        "data": data,
        "layout": style.layout(
            theme,
            72 + 26 * max(2, len(rows)),
            margin={"l": 110, "r": 24, "t": 20, "b": 48},
            xaxis=style.axis(
                theme, range=[low - 2.5 * pad, high + pad],
                title={"text": "packets, % of the share λ",
                       "standoff": 8},
            ),
            yaxis=style.axis(
                theme, type="category", categoryorder="array", categoryarray=names,
                range=[len(names) - 0.5, -0.5], showgrid=False, fixedrange=True,
            ),
            shapes=[
                {"type": "line", "xref": "x", "yref": "paper", "x0": 100, "x1": 100,
                 "y0": 0, "y1": 1, "layer": "below",
                 "line": {"color": theme["ink-3"], "width": 1, "dash": "dot"}}
            ],
            annotations=[],
        ),
    }  # fmt: skip


def _chosen(fabric: FabricView | None) -> list[PathRow]:
    rows = [] if fabric is None else [row for row in fabric.rows if row.expected]
    if len(rows) > MAX_ROWS:
        rows = sorted(rows, key=lambda row: not row.flagged)[:MAX_ROWS]
    return rows


def _name(row: PathRow) -> str:
    return f"{row.source_leaf} → {row.target_leaf}"


def _limit(row: PathRow) -> float | None:
    if not row.expected or row.threshold is None:
        return None
    return 100 * row.threshold / row.expected


def _points(row: PathRow) -> list[tuple[str, float, str, str, str]]:
    """Row, per cent, hover, state, label of each spine."""
    found = []
    for cell in row.cells:
        if cell.count is None:
            continue
        place = percent_of_expected(row, cell.count)
        if place is None:
            continue
        hover = (
            f"<b>{row.source_leaf}-{cell.spine}-{row.target_leaf}</b> {cell.state}<br>"
            f"{cell.count} packets, z = {cell.z_text}<br>λ = {row.expected:.1f}, "
            f"λ − s√λ = {row.threshold:.1f}"
        )
        label = f"{cell.spine}\u00a0\u00a0\u00a0" if cell.state == FAILING else ""
        found.append((_name(row), place, hover, cell.state, label))
    return found


def _thresholds(rows: list[PathRow], theme: Theme) -> dict[str, Any]:
    limits = [(_name(row), limit, row) for row in rows if (limit := _limit(row))]
    return {
        "type": "scatter", "mode": "markers", "name": "threshold",
        "x": [limit for _, limit, _ in limits], "y": [name for name, _, _ in limits],
        "marker": {"symbol": "line-ns-open", "size": 16, "color": theme["mark"],
                   "line": {"width": 2, "color": theme["mark"]}},
        "hovertext": [f"threshold λ − s√λ = {row.threshold:.1f} packets, "
                      f"s = {row.sensitivity:.3g}" for _, _, row in limits],
        "hoverinfo": "text",
    }  # fmt: skip


def _marks(
    points: list[tuple[str, float, str, str, str]], symbol: str, color: str
) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers+text", "name": symbol,
        "x": [point[1] for point in points], "y": [point[0] for point in points],
        "marker": {"symbol": symbol, "size": 9, "color": color,
                   "line": {"width": 1.5, "color": color}},
        "text": [point[4] for point in points], "textposition": "middle left",
        "textfont": {"color": color, "size": 11},
        "hovertext": [point[2] for point in points], "hoverinfo": "text",
    }  # fmt: skip
