"""One figure of a qualification over all fault classes: points with intervals. Pure."""

from __future__ import annotations

from typing import Any

from harness.figures import style
from harness.palette import Theme
from harness.qualification import Qualification
from harness.qualification_figures import LABELS, ClassRow, Figure

ROW_PX = 34
MARGIN_PX = 74
# What is drawn, in this order: name of the figure, title of its axis.
DRAWN = {
    "recall": "share of expected incidents found",
    "exact": "share of runs with exactly the expected verdicts",
    "localization_p90_s": "seconds from injection to the exact verdict, 90 %",
    "overhead": "seconds in checks per second of training",
}


def figure(report: Qualification, theme: Theme, name: str) -> style.Figure:
    """Rows are classes; what was not measured has no mark, and says so."""
    rows = [row for row in report.classes if row.num_promised or name != "recall"]
    names = [row.name for row in rows]
    shown = [(row, row.figure(name)) for row in rows]
    top = max((end for _, item in shown if (end := _end(item)) is not None),
              default=1.0)  # fmt: skip
    is_share = name in ("recall", "exact")
    span = (-0.02, 1.02) if is_share else (-0.02 * top, 1.05 * top)
    return {
        "data": [
            *(_whisker(row, item, theme) for row, item in shown
              if item.low is not None),
            _points(shown, theme),
            _absent([row for row, item in shown if item.value is None], span, theme),
        ],
        "layout": style.layout(
            theme,
            MARGIN_PX + ROW_PX * max(1, len(rows)),
            margin={"l": 210, "r": 24, "t": 16, "b": 44},
            xaxis=style.axis(theme, range=list(span),
                             title={"text": DRAWN[name], "standoff": 8}),
            yaxis=style.axis(
                theme, type="category", categoryorder="array", categoryarray=names,
                range=[len(rows) - 0.5, -0.5], showgrid=False, fixedrange=True,
            ),
            shapes=_limits(report, theme, name),
        ),
    }  # fmt: skip


def title(name: str) -> str:
    """What the picture shows, for those who cannot see it."""
    return f"{LABELS[name]} of every fault class, with 95 % intervals"


def _end(item: Figure) -> float | None:
    return item.high if item.high is not None else item.value


def _whisker(row: ClassRow, item: Figure, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "x": [item.low, item.high],
        "y": [row.name, row.name], "hoverinfo": "skip",
        "line": {"color": theme["line-2"], "width": 3, "dash": "solid"},
    }  # fmt: skip


def _points(shown: list[tuple[ClassRow, Figure]], theme: Theme) -> dict[str, Any]:
    there = [(row, item) for row, item in shown if item.value is not None]
    return {
        "type": "scatter", "mode": "markers",
        "x": [item.value for _, item in there], "y": [row.name for row, _ in there],
        "marker": {"symbol": "diamond", "size": 11, "color": theme["accent"]},
        "text": [f"<b>{row.name}</b><br>{item.label} {item.text}"
                 for row, item in there],
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _absent(
    rows: list[ClassRow], span: tuple[float, float], theme: Theme
) -> dict[str, Any]:
    at = span[0] + 0.03 * (span[1] - span[0])
    return {
        "type": "scatter", "mode": "text", "x": [at] * len(rows),
        "y": [row.name for row in rows], "text": ["not measured"] * len(rows),
        "textposition": "middle right", "hoverinfo": "skip",
        "textfont": {"color": theme["ink-3"], "size": 12},
    }  # fmt: skip


def _limits(report: Qualification, theme: Theme, name: str) -> list[dict[str, Any]]:
    """A dashed line at each limit that the suite sets."""
    label = LABELS[name]
    limits = {item.limit for item in report.judgements if item.label == label}
    return [
        {
            "type": "line", "xref": "x", "yref": "paper", "x0": limit, "x1": limit,
            "y0": 0, "y1": 1,
            "line": {"color": theme["ink-2"], "width": 1.2, "dash": "dash"},
        }
        for limit in sorted(limits)
    ]  # fmt: skip
