"""All figures of a run, as one literal dict: name -> how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.figures import evidence, leafspine_map, progress, spines, timeline, timing
from harness.figures.style import Figure
from harness.palette import Theme
from harness.views.run import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """A figure: what it shows, and what it says to those who cannot see it."""

    title: str
    draw: Callable[[RunView, Theme, int], Figure]
    is_per_group: bool  # one picture for each peer group


FIGURES: dict[str, FigureKind] = {
    "timeline": FigureKind(
        title="Injections, checks and verdicts over time",
        draw=lambda view, theme, group: timeline.figure(view, theme),
        is_per_group=False,
    ),
    "evidence": FigureKind(
        title="Compared signatures of every rank",
        draw=evidence.figure,
        is_per_group=True,
    ),
    "timing": FigureKind(
        title="Timed intervals of every rank against the median",
        draw=timing.figure,
        is_per_group=True,
    ),
    "spines": FigureKind(
        title="Packets of every path beside its threshold",
        draw=lambda view, theme, group: spines.figure(view, theme),
        is_per_group=False,
    ),
    "leafspine_map": FigureKind(
        title="Links of the leaf-spine by what is known of them",
        draw=lambda view, theme, group: leafspine_map.figure(view, theme),
        is_per_group=False,
    ),
    "progress": FigureKind(
        title="Steps of every rank over time",
        draw=lambda view, theme, group: progress.figure(view, theme),
        is_per_group=False,
    ),
}
