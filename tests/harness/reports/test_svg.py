"""Our figures become SVG completely, or fail loudly."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.figures.catalogue import FIGURES
from harness.palette import VARIABLES
from harness.reports import svg
from harness.reports.marker import marker
from harness.views.run import build
from harness.views.source import RunLog
from tests import run_builder as rb


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_well_formed_svg(name: str, tmp_path: Path) -> None:
    view = build(RunLog(rb.sdc_run(tmp_path)).read())
    text = svg.draw(FIGURES[name].draw(view, VARIABLES, 0), FIGURES[name].title)
    root = ET.fromstring(text)
    assert root.tag == "svg"
    assert root.attrib["aria-label"] == FIGURES[name].title


def test_every_cell_of_the_heatmap_is_drawn_with_its_evidence(tmp_path: Path) -> None:
    view = build(RunLog(rb.sdc_run(tmp_path)).read())
    root = ET.fromstring(svg.draw(FIGURES["evidence"].draw(view, VARIABLES, 0), "x"))
    cells = [rect for rect in root.iter("rect") if rect.find("title") is not None]
    assert len(cells) == 4 * 156
    red = [rect for rect in cells if "cell-outlier" in rect.attrib["style"]]
    assert len(red) == 22
    assert "rank2 outlier" in (red[0].findtext("title") or "")


def test_a_hostile_name_cannot_leave_its_text(tmp_path: Path) -> None:
    figure = FIGURES["progress"].draw(
        build(RunLog(rb.clean_run(tmp_path)).read()), VARIABLES, 0
    )
    figure["layout"]["annotations"] = [
        {
            "x": 0,
            "y": 1,
            "text": "<script>x</script>",
            "font": {"color": "#000", "size": 9},
        }
    ]
    assert "<script>" not in svg.draw(figure, '"><script>')


@pytest.mark.parametrize("what", ["trace", "shape"])
def test_what_cannot_be_drawn_is_an_error(what: str) -> None:
    axis = {"gridcolor": "#000", "tickfont": {"color": "#000", "size": 9}}
    margin = {"l": 1, "r": 1, "t": 1, "b": 1}
    layout = {"height": 100, "margin": margin, "xaxis": axis, "yaxis": axis}
    figure = {"data": [], "layout": layout}
    if what == "trace":
        figure["data"] = [{"type": "pie"}]
    else:
        layout["shapes"] = [{"type": "circle", "x0": 0, "x1": 1, "y0": 0, "y1": 1}]
    with pytest.raises(ValueError, match="allowed"):
        svg.draw(figure, "x")


def test_an_unknown_symbol_is_an_error() -> None:
    with pytest.raises(ValueError, match="allowed"):
        marker("hexagram", 0, 0, 8, "#000")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    high = low + span
    ticks = svg.nice_ticks(low, high)
    assert 1 <= len(ticks) <= 12
    slack = span * 1e-6
    assert all(low - slack <= tick <= high + slack for tick in ticks)
