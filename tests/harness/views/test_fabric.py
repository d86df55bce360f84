"""The fabric on page, JSON, CSV and report: the same figures, nothing unknown."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.figures.catalogue import FIGURES
from harness.palette import LIGHT
from harness.report import render
from harness.store import RunDirectory
from harness.views.fabric import FabricView
from harness.views.run import build
from harness.views.source import RunLog
from tests import run_builder as rb
from tests.harness.fabric.played_run import GRAY, UP, played
from tests.harness.fabric.small import JOB_BYTES
from vocab.fabric_events import FlowCounted, RoutingChanged
from webapp.app import create_app
from webapp.settings import Settings


def view_of(run: RunDirectory) -> FabricView:
    found = build(RunLog(run).read()).fabric
    assert found is not None
    return found


def states(view: FabricView) -> dict[str, str]:
    return {link.link: link.state for link in view.links}


def test_page_json_csv_and_report_show_the_same_counters(tmp_path: Path) -> None:
    with played(tmp_path, GRAY) as (run, _):
        view = view_of(run)
        client = TestClient(
            create_app(Settings(runs_root=tmp_path)), base_url="http://127.0.0.1"
        )
        base = f"/runs/{run.run_id}"
        twin = client.get(f"{base}/fabric.json").json()
        assert twin == client.get(f"{base}.json").json()["fabric"]
        assert twin == json.loads(render(run, "json"))["fabric"]
        table = client.get(f"{base}/fabric.csv").content
        assert table == render(run, "fabric-csv")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        pages = [
            client.get(base).text,
            client.get(f"{base}/fabric/counters").text,
            render(run, "html").decode(),
        ]
        words = client.get(f"{base}/fabric/words").text
    cells = [(row, cell) for row in view.rows for cell in row.cells]
    assert [(r["source_leaf"], r["spine"], r["state"], int(r["count"]), float(r["z"]),
             float(r["threshold"])) for r in rows] == [
        (row.source_leaf, cell.spine, cell.state, cell.count, cell.z, row.threshold)
        for row, cell in cells
    ]  # fmt: skip
    told = [(str(cell.count), cell.z_text) for _, cell in cells]
    for page in pages:
        assert re.findall(r"</b> (\d+)</span> <small>z (\S+)</small>", page) == told
    for line in view.words:
        assert line in words
        assert all(line in page for page in (pages[0], pages[2]))


def test_the_blamed_link_is_on_the_map_and_the_failing_paths_in_words(
    tmp_path: Path,
) -> None:
    with played(tmp_path, GRAY, steps=10) as (run, _):
        view = view_of(run)
        figure = FIGURES["leafspine_map"].draw(build(RunLog(run).read()), LIGHT, 0)
    assert {name for name, state in states(view).items() if state == "blamed"} == {UP}
    assert set(states(view).values()) == {"blamed", "passing"}
    assert [(row.source_leaf, row.target_leaf) for row in view.rows if row.flagged] == [
        ("leaf0", "leaf1"), ("leaf0", "leaf2")
    ]  # fmt: skip
    assert view.words == (
        "32 of 48 usable paths are measured; 2 fail.",
        "spine1: 2 of 8 measured paths fail (leaf0 to leaf1, leaf0 to leaf2), and "
        "leaf0-spine1:up is on all of them; blamed: leaf0-spine1:up.",
    )
    assert view.extra_s is not None
    assert view.extra_s > 0
    assert f"{UP} blamed" in [n["text"] for n in figure["layout"]["annotations"]]


def test_two_ends_that_nothing_tells_apart_are_suspects(tmp_path: Path) -> None:
    with played(tmp_path, GRAY, ranks=2) as (run, fabric):
        fabric.end("the job has left")
        view = view_of(run)
        page = build(RunLog(run).read())
    assert {name for name, state in states(view).items() if state == "suspect"} == {
        UP, "leaf1-spine1:down"
    }  # fmt: skip
    assert page.cards[0].headline == (
        f"{UP} or leaf1-spine1:down loses packets; nothing tells which"
    )
    assert "one of leaf0-spine1:up and leaf1-spine1:down; needed:" in view.words[1]


def test_a_flow_under_way_is_shown_and_not_judged(tmp_path: Path) -> None:
    with played(tmp_path, steps=0) as (run, fabric):
        fabric.begin(1, JOB_BYTES)
        view = view_of(run)
    assert {cell.state for row in view.rows for cell in row.cells} == {"unmeasured"}
    assert set(states(view).values()) == {"unmeasured"}
    first = view.rows[0]
    assert first.live_text == "2500 of 5000 packets under way"
    assert sum(cell.live or 0 for cell in first.cells) == 2500
    assert (first.expected, first.still_needed, view.extra_s) == (None, None, None)
    assert view.words == ("0 of 48 usable paths are measured; none fails.",)


def test_a_link_without_carrier_has_no_route_and_is_not_blamed(tmp_path: Path) -> None:
    fault = {"kind": "link.down", "link": "leaf2-spine3", "at_step": 3}
    with played(tmp_path, fault) as (run, _):
        view = view_of(run)
    down = {name for name, state in states(view).items() if state == "down"}
    assert down == {"leaf2-spine3:up", "leaf2-spine3:down"}
    assert view.num_paths == 48 - 6
    row = next(row for row in view.rows if row.source_leaf == "leaf2")
    assert (row.cells[3].state, row.cells[3].count) == ("down", None)


def test_a_run_without_a_fabric_has_none_anywhere(tmp_path: Path) -> None:
    run = rb.sdc_run(tmp_path)
    view = build(RunLog(run).read())
    assert (view.has_fabric, view.fabric) == (False, None)
    assert "loses packets" not in render(run, "html").decode()
    assert render(run, "fabric-csv").count(b"\r\n") == 1


def test_damaged_events_are_passed_over(tmp_path: Path) -> None:
    with played(tmp_path, GRAY) as (run, fabric):
        good = view_of(run)
        for source, event in (
            ("fabric", RoutingChanged(step=7, disabled=("leaf9-spine1",))),
            ("fabric", RoutingChanged(step=7, disabled=("x",))),
            ("leaf1", FlowCounted(step=7, dest_qp=257, counts=(1,), is_over=False)),
        ):
            fabric.journal.write(source, event)
        view = view_of(run)
    assert (view.rows, view.links, view.num_paths) == (good.rows, good.links, 48)


@pytest.mark.parametrize("name", ["spines", "leafspine_map"])
def test_a_fabric_of_64_leaves_stays_a_small_figure(name: str, tmp_path: Path) -> None:
    with played(tmp_path, GRAY) as (run, _):
        view = build(RunLog(run).read())
    assert view.fabric is not None
    large = replace(
        view.fabric,
        num_leaves=64,
        num_spines=64,
        rows=tuple(
            replace(view.fabric.rows[0], source_leaf=f"leaf{number}",
                    cells=view.fabric.rows[0].cells * 16)
            for number in range(384)
        ),
        links=tuple(
            replace(view.fabric.links[0], link=f"leaf{leaf}-spine{spine}:up",
                    leaf=leaf, spine=spine)
            for leaf in range(64) for spine in range(64)
        ),
    )  # fmt: skip
    figure = FIGURES[name].draw(replace(view, fabric=large), LIGHT, 0)
    assert len(json.dumps(figure)) < 1_200_000
    assert figure["layout"]["height"] <= 72 + 26 * 48
