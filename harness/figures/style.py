"""What all figures share: layout, injection bands, verdict lines. Pure."""

from __future__ import annotations

from typing import Any

from harness.palette import Theme
from harness.views.timeline import Band, Timeline

Figure = dict[str, Any]
FONT = "'Plex Sans', system-ui, sans-serif"
DASHES = ("solid", "dash", "dot", "dashdot")
NUM_RANK_COLORS = 8


def axis(theme: Theme, **extra: Any) -> dict[str, Any]:
    """A quiet axis."""
    return {
        "gridcolor": theme["line"],
        "linecolor": theme["line-2"],
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": theme["ink-2"], "size": 12},
        "automargin": True,
        "fixedrange": False,
        **extra,
    }


def layout(theme: Theme, height: int, **extra: Any) -> dict[str, Any]:
    """Transparent ground, our font, no legend: marks are labelled where they stand."""
    return {
        "height": height,
        "margin": {"l": 64, "r": 16, "t": 28, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": theme["ink-2"], "size": 12},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": theme["sheet"],
            "bordercolor": theme["line-2"],
            "font": {"family": FONT, "color": theme["ink"], "size": 12},
            "align": "left",
        },
        # Zoom and selection survive Plotly.react as long as this stays the same.
        "uirevision": "keep",
        **extra,
    }


def rank_color(theme: Theme, index: int) -> str:
    """Colour of the index-th rank's line."""
    return theme[f"rank{index % NUM_RANK_COLORS}"]


def rank_dash(index: int) -> str:
    """Dash of the index-th rank's line: tells apart what colour alone does not."""
    return DASHES[(index // NUM_RANK_COLORS + index) % len(DASHES)]


def band_shapes(timeline: Timeline) -> list[dict[str, Any]]:
    """Injection bands for a chart over seconds."""
    return [
        {
            "type": "rect", "layer": "below", "xref": "x", "yref": "paper",
            "x0": band.from_s, "x1": _until(band, timeline), "y0": 0, "y1": 1,
            "fillcolor": band.color, "opacity": 0.14, "line": {"width": 0},
        }
        for band in timeline.bands
    ]  # fmt: skip


def band_labels(timeline: Timeline, theme: Theme) -> list[dict[str, Any]]:
    """The bands' names, above them."""
    return [
        band_label(band, theme, 1.0, band.from_s, _until(band, timeline),
                   is_late=is_late(band.from_s, timeline))
        for band in timeline.bands
    ]  # fmt: skip


def band_label(
    band: Band, theme: Theme, y: float, left: float, right: float, *, is_late: bool
) -> dict[str, Any]:
    """A band's name, from its left end on; up to its right end where that is late."""
    return {
        "xref": "x", "yref": "paper", "x": right if is_late else left, "y": y,
        "xanchor": "right" if is_late else "left", "yanchor": "bottom",
        "showarrow": False, "text": f"▼ {band.label} · {', '.join(band.targets)}",
        "font": {"color": theme["ink-2"], "size": 11},
    }  # fmt: skip


def is_late(at_s: float, timeline: Timeline) -> bool:
    """Whether a label that begins here would run out of the picture."""
    return at_s > 0.6 * max(timeline.end_s, 1.0)


def verdict_shapes(timeline: Timeline, theme: Theme) -> list[dict[str, Any]]:
    """A line at each verdict and a band while it stands, for a chart over seconds."""
    lines = [
        {
            "type": "line", "xref": "x", "yref": "paper", "x0": mark.at_s,
            "x1": mark.at_s, "y0": 0, "y1": 1,
            "line": {"color": theme["ink"], "width": 1.5, "dash": "dot"},
        }
        for mark in timeline.verdicts
    ]  # fmt: skip
    bands = [
        {
            "type": "rect", "xref": "x", "yref": "paper", "x0": mark.at_s,
            "x1": timeline.end_s if mark.closed_s is None else mark.closed_s,
            "y0": 0, "y1": 0.03, "fillcolor": theme["ink"], "opacity": 0.45,
            "line": {"width": 0},
        }
        for mark in timeline.verdicts
    ]  # fmt: skip
    return [*lines, *bands]


def _until(band: Band, timeline: Timeline) -> float:
    return timeline.end_s if band.to_s is None else band.to_s
