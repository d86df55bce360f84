"""Figures are plain Plotly dicts, and Plotly itself accepts them."""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest

from harness.figures.catalogue import FIGURES
from harness.palette import THEMES
from harness.views.run import RunView, build
from harness.views.source import RunLog
from tests import run_builder as rb

MAKERS = (rb.clean_run, rb.sdc_run, rb.straggler_run, rb.hang_run, rb.killed_run)


def view_of(maker, tmp_path: Path) -> RunView:  # type: ignore[no-untyped-def]
    """The view of a made run."""
    return build(RunLog(maker(tmp_path)).read())


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("maker", MAKERS)
def test_plotly_accepts_every_figure(
    maker, name: str, theme: str, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    figure = FIGURES[name].draw(view_of(maker, tmp_path), THEMES[theme], 0)
    go.Figure(figure)  # raises on an unknown property or a value of a wrong type
    json.dumps(figure, allow_nan=False)


def test_the_evidence_figure_has_a_cell_for_every_rank_and_surface(
    tmp_path: Path,
) -> None:
    view = view_of(rb.sdc_run, tmp_path)
    cells = FIGURES["evidence"].draw(view, THEMES["light"], 0)["data"][0]
    assert [len(row) for row in cells["z"]] == [156] * 4
    assert [row.count(1) for row in cells["z"]] == [0, 0, 22, 0]


def test_injection_bands_stand_on_every_chart(tmp_path: Path) -> None:
    view = view_of(rb.sdc_run, tmp_path)
    for name, kind in FIGURES.items():
        if name in ("spines", "leafspine_map"):
            continue  # not over time
        layout = kind.draw(view, THEMES["light"], 0)["layout"]
        fills = [shape.get("fillcolor") for shape in layout["shapes"]]
        assert "#d62728" in fills, name
        assert any("SDC: stuck" in note["text"] for note in layout["annotations"]), name


def test_an_empty_run_draws_empty_pictures(tmp_path: Path) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    view = build(RunLog(builder.close()).read())
    for kind in FIGURES.values():
        go.Figure(kind.draw(view, THEMES["light"], 0))
