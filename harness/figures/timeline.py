"""Injections, checks and verdicts over time, each in its lane. Pure."""

from __future__ import annotations

from typing import Any

from harness.figures import style
from harness.palette import Theme
from harness.views.run import RunView
from harness.views.timeline import Timeline
from vocab.verdict import State

_LANES = ["phase", "checks", "verdict", "fault"]  # from below
# (finding, symbol, colour)
_CHECKS = (
    ("agree", "line-ns-open", "good"),
    ("outlier", "x-thin-open", "bad"),
    ("incomplete", "circle-open", "unknown"),
)
_VERDICTS = {
    State.ATTRIBUTED: ("x", "bad"),
    State.GROUP_SCOPED: ("square-open", "group"),
    State.INCONCLUSIVE: ("diamond-open", "warn"),
    State.INCOMPLETE_DATA: ("circle-open", "unknown"),
    State.HEALTHY: ("circle", "good"),
}


def figure(view: RunView, theme: Theme) -> style.Figure:
    """Four lanes over seconds since the run began."""
    line = view.timeline
    end_s = max(line.end_s, 1.0)
    return {
        "data": [
            *_phases(line, theme),
            *_faults(line, theme),
            *_checks(line, theme),
            *_verdicts(line, theme),
        ],
        "layout": style.layout(
            theme,
            214,
            xaxis=style.axis(
                theme,
                title={"text": "seconds since the run began", "standoff": 8},
                range=[-0.02 * end_s, 1.04 * end_s],
            ),
            yaxis=style.axis(
                theme, type="category", categoryorder="array",
                categoryarray=_LANES, range=[-0.6, 3.6], showgrid=False,
                fixedrange=True,
            ),
            shapes=[*style.band_shapes(line), *style.verdict_shapes(line, theme)],
            annotations=style.band_labels(line, theme),
        ),
    }  # fmt: skip


def _phases(line: Timeline, theme: Theme) -> list[dict[str, Any]]:
    """A segment per phase; its name only where there is room for it."""
    traces = []
    for index, span in enumerate(line.phases):
        until = line.end_s if span.to_s is None else span.to_s
        has_room = until - span.from_s > 0.07 * max(line.end_s, 1.0)
        hover = f"{span.phase} from {span.from_s:.2f} s"
        traces.append(
            {
                "type": "scatter", "mode": "lines+text", "name": span.phase,
                "x": [span.from_s, until], "y": ["phase", "phase"],
                "line": {"color": theme["line-2" if index % 2 else "line"],
                         "width": 16},
                "text": [f" {span.phase}" if has_room else "", ""],
                "textposition": "middle right",
                "textfont": {"color": theme["ink"], "size": 11},
                "hovertext": [hover, hover], "hoverinfo": "text",
            }
        )  # fmt: skip
    return traces


def _faults(line: Timeline, theme: Theme) -> list[dict[str, Any]]:
    traces = []
    for band in line.bands:
        until = line.end_s if band.to_s is None else band.to_s
        over = "not healed" if band.to_s is None else f"healed at {band.to_s:.2f} s"
        hover = (
            f"<b>{band.label}</b> on {', '.join(band.targets)}<br>"
            f"injected at {band.from_s:.2f} s, {over}"
        )
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": band.fault_id,
                "x": [band.from_s, until], "y": ["fault", "fault"],
                "line": {"color": band.color, "width": 10},
                "marker": {"symbol": ["triangle-down", "line-ns-open"], "size": 10,
                           "color": theme["mark"],
                           "line": {"width": 2, "color": theme["mark"]}},
                "text": [hover, hover], "hovertemplate": "%{text}<extra></extra>",
            }
        )  # fmt: skip
    return traces


def _checks(line: Timeline, theme: Theme) -> list[dict[str, Any]]:
    traces = []
    for finding, symbol, color in _CHECKS:
        marks = [mark for mark in line.checks if mark.finding == finding]
        if marks:
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "name": finding,
                    "x": [mark.at_s for mark in marks],
                    "y": ["checks"] * len(marks),
                    "marker": {"symbol": symbol, "size": 11, "color": theme[color],
                               "line": {"width": 2, "color": theme[color]}},
                    "text": [
                        f"check {m.check} of {m.group} · step {m.step}<br>{finding}"
                        for m in marks
                    ],
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )  # fmt: skip
    return traces


def _verdicts(line: Timeline, theme: Theme) -> list[dict[str, Any]]:
    traces = []
    for index, mark in enumerate(line.verdicts):
        symbol, color = _VERDICTS[mark.state]
        late = style.is_late(mark.at_s, line)
        closed = "" if mark.closed_s is None else f"<br>closed at {mark.closed_s:.2f} s"
        step = "" if mark.step is None else f" · step {mark.step}"
        traces.append(
            {
                "type": "scatter", "mode": "markers+text", "name": mark.verdict_id,
                "x": [mark.at_s], "y": ["verdict"],
                "text": [f"{mark.text}  " if late else f"  {mark.text}"],
                # Verdicts may come close together: their names take turns.
                "textposition": f"{('top', 'bottom')[index % 2]} "
                                f"{'left' if late else 'right'}",
                "textfont": {"color": theme["ink"], "size": 12},
                "marker": {"symbol": symbol, "size": 12, "color": theme[color],
                           "line": {"width": 2, "color": theme[color]}},
                "hovertext": [f"{mark.text} at {mark.at_s:.2f} s{step}{closed}"],
                "hoverinfo": "text",
            }
        )  # fmt: skip
    return traces
