"""The page of experiments: results of the user before those that ship, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.experiments.registry import EXPERIMENTS
from harness.experiments.runner import measured, write
from harness.views.experiments import build, picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    experiment = EXPERIMENTS["spray-noise"]
    made = tmp_path / "experiments"
    rows = measured(experiment, made, quick=True, tell=lambda done, total: None)
    write(experiment, experiment.report(rows), made, "faultyard experiment spray-noise")
    return made


def test_every_experiment_is_listed_and_unmeasured_ones_say_so(folder: Path) -> None:
    view = build(folder, shipped=folder / "nothing")
    assert [item.name for item in view.experiments] == list(EXPERIMENTS)
    first, *others = view.experiments
    assert (first.is_measured, first.origin) == (True, "yours")
    assert len(first.table) == 4
    assert not any(item.is_measured or item.claims for item in others)
    assert view.num_claims == len(first.claims) == 2


def test_damaged_results_are_no_results(folder: Path) -> None:
    (folder / "spray-noise.json").write_text("{")
    assert not build(folder, shipped=folder / "nothing").experiments[0].is_measured
    assert picture("spray-noise", folder, shipped=folder / "nothing") is None
    assert picture("../spray-noise", folder) is None


def test_the_page_and_its_twin_show_the_same(client: TestClient) -> None:
    twin = client.get("/experiments.json").json()
    page = client.get("/experiments").text
    assert {item["name"] for item in twin["experiments"]} == set(EXPERIMENTS)
    for item in twin["experiments"]:
        assert f'id="{item["name"]}"' in page
        for claim in item["claims"]:
            assert json.dumps(claim["is_reached"]) in ("true", "false")
        shown = client.get(f"/experiments/{item['name']}.svg")
        assert shown.status_code == (200 if item["is_measured"] else 404)
    assert client.get("/experiments/x.svg").status_code == 404
