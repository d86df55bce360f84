"""Steps finished by each rank over time. Pure: a stall is a line that stays flat."""

from __future__ import annotations

from typing import Any

from harness.figures import style
from harness.palette import Theme
from harness.views import wording
from harness.views.progress import RankProgress
from harness.views.run import RunView


def figure(view: RunView, theme: Theme) -> style.Figure:
    """One line per rank, told apart by colour and dash, named in the hover."""
    line = view.timeline
    end_s = max(line.end_s, 1.0)
    return {
        "data": [
            _line(rank, index, theme) for index, rank in enumerate(view.progress)
        ],
        "layout": style.layout(
            theme,
            230,
            xaxis=style.axis(
                theme,
                title={"text": "seconds since the run began", "standoff": 8},
                range=[-0.02 * end_s, 1.04 * end_s],
            ),
            yaxis=style.axis(theme, title={"text": "step", "standoff": 8},
                             rangemode="tozero"),
            shapes=[*style.band_shapes(line), *style.verdict_shapes(line, theme)],
            annotations=style.band_labels(line, theme),
        ),
    }  # fmt: skip


def _line(rank: RankProgress, index: int, theme: Theme) -> dict[str, Any]:
    color = style.rank_color(theme, index)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": rank.rank,
        "x": [point.at_s for point in rank.steps],
        "y": [point.step for point in rank.steps],
        "line": {
            "color": color,
            "width": 1.8,
            "dash": style.rank_dash(index),
            "shape": "hv",
        },
        "text": [
            f"<b>{rank.rank}</b> step {point.step}<br>"
            f"{wording.seconds(point.duration_s)} · loss {wording.number(point.loss)}"
            for point in rank.steps
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
