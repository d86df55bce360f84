"""Bands above a heatmap: while a fault was active, while a verdict stood. Pure.

    ◆ SDC of rank2          names of verdicts
    ▼ SDC: stuck bit        names of injections
    ▬▬▬▬▬▬▬▬                injection, in the fault's own colour
      ▬▬▬▬▬▬▬▬▬             verdict, until its incident was closed

Columns are checks, so bands begin and end with steps, not with seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from harness.figures.style import band_label
from harness.palette import Theme
from harness.views.timeline import Band, Timeline, VerdictMark

# Pixels above the cells: (bottom, top) of the two bands, then the two rows of names.
_VERDICT_PX, _INJECTION_PX = (2, 6), (8, 13)
_NAME_PX, _SECOND_NAME_PX = 14, 28
TOP_PX = 30
TOP_WITH_VERDICTS_PX = 46


class Span(Protocol):
    """The columns of one check, or of several that share a column."""

    @property
    def first(self) -> int:
        """First column."""

    @property
    def last(self) -> int:
        """Last column."""

    @property
    def step(self) -> int:
        """Step of the (first) check."""

    @property
    def last_step(self) -> int:
        """Step of the last check."""


def top_px(timeline: Timeline) -> int:
    """Room that the bands and their names need."""
    return TOP_WITH_VERDICTS_PX if timeline.verdicts else TOP_PX


def strips(
    found: Sequence[Span], timeline: Timeline, theme: Theme, height_px: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(shapes, names) of all bands over cells that are `height_px` high."""
    shapes: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    for band in timeline.bands:
        ends = _ends(found, band.from_step, band.to_step)
        if ends is not None:
            shapes.append(_rect(ends, _INJECTION_PX, band.color, height_px))
            names.append(_injection_name(found, band, theme, ends, height_px))
    for mark in timeline.verdicts:
        ends = _ends(found, mark.step, mark.closed_step)
        if ends is not None:
            shapes.append(_rect(ends, _VERDICT_PX, theme["ink"], height_px))
            names.append(_verdict_name(found, mark, theme, ends, height_px))
    return shapes, names


def _ends(
    found: Sequence[Span], first: int | None, last: int | None
) -> tuple[float, float] | None:
    """Left and right end over the checks within these steps; None where none is."""
    if first is None:
        return None
    inside = [s for s in found
              if s.last_step >= first and (last is None or s.step <= last)]  # fmt: skip
    return (inside[0].first - 0.5, inside[-1].last + 0.5) if inside else None


def _rect(
    ends: tuple[float, float], place_px: tuple[int, int], color: str, height_px: int
) -> dict[str, Any]:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": ends[0], "x1": ends[1],
        "y0": 1 + place_px[0] / height_px, "y1": 1 + place_px[1] / height_px,
        "fillcolor": color, "line": {"width": 0},
    }  # fmt: skip


def _injection_name(
    found: Sequence[Span], band: Band, theme: Theme, ends: tuple[float, float],
    height_px: int,
) -> dict[str, Any]:  # fmt: skip
    y = 1 + _NAME_PX / height_px
    return band_label(band, theme, y, *ends, is_late=_is_late(found, ends))


def _verdict_name(
    found: Sequence[Span], mark: VerdictMark, theme: Theme, ends: tuple[float, float],
    height_px: int,
) -> dict[str, Any]:  # fmt: skip
    late = _is_late(found, ends)
    return {
        "xref": "x", "yref": "paper", "x": ends[1] if late else ends[0],
        "y": 1 + _SECOND_NAME_PX / height_px,
        "xanchor": "right" if late else "left", "yanchor": "bottom",
        "showarrow": False, "text": f"◆ {mark.text}",
        "font": {"color": theme["ink"], "size": 11},
    }  # fmt: skip


def _is_late(found: Sequence[Span], ends: tuple[float, float]) -> bool:
    """Whether a name that begins here would run out of the picture."""
    return ends[0] > 0.6 * (found[-1].last + 1)
