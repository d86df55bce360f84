"""The paper's evaluation as commands: every experiment, kept points, honest claims."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.experiments import iterations, multi_failure, pmin
from harness.experiments.registry import EXPERIMENTS
from harness.experiments.runner import measured


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_writes_table_picture_and_claims(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["experiment", name, "--quick", "--out", str(tmp_path), "--json"]
    assert main(command) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["command"] == f"faultyard experiment {name} --quick"
    folder = tmp_path / "quick"
    head, *lines = csv.reader((folder / f"{name}.csv").read_text().splitlines())
    assert lines
    assert {len(line) for line in lines} == {len(head)}
    assert b"<svg" in (folder / f"{name}.svg").read_bytes()
    assert json.loads((folder / f"{name}.json").read_text()) == data


def test_measured_points_are_kept_and_a_torn_line_is_measured_again(
    tmp_path: Path,
) -> None:
    told: list[tuple[int, int]] = []
    experiment = EXPERIMENTS["spray-noise"]

    def rows() -> list[dict[str, object]]:
        told.clear()
        return measured(
            experiment, tmp_path, quick=True, tell=lambda *part: told.append(part)
        )

    first = rows()
    kept = tmp_path / "spray-noise.points.jsonl"
    assert rows() == first
    assert told == [(4, 4)]
    kept.write_text(kept.read_text()[:-20])
    assert rows() == first
    assert told == [(3, 4), (4, 4)]


def test_a_claim_that_fails_is_said_and_shows_in_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = replace(pmin.EXPERIMENT, points=lambda quick: pmin.points(True))
    monkeypatch.setitem(EXPERIMENTS, "pmin", small)
    monkeypatch.setattr(pmin, "P_MIN", {0.015: 2_000})
    assert main(["experiment", "pmin", "--out", str(tmp_path)]) == 1
    assert "NOT reached" in capsys.readouterr().out


def test_an_unknown_experiment_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "spray"]) == 64
    assert "experiment is 'spray'; allowed: spray-noise, roc" in capsys.readouterr().err
    assert main(["experiment"]) == 0
    assert "priority-cost" in capsys.readouterr().out


def test_the_grids_are_those_of_the_issue() -> None:
    grid = pmin.points(False)
    assert {point["spines"] for point in grid} == {8, 16, 32, 64}
    assert {point["drop"] for point in grid} == {0.005, 0.01, 0.015}
    assert {point["seeds"] for point in grid} == {20}
    cases = {(p["spines"], p["num_failed"]) for p in multi_failure.points(False)}
    assert {(32, 1), (32, 2), (32, 3), (32, 4), (8, 2)} <= cases


def test_the_traffic_of_an_iteration_is_the_documented_calculation() -> None:
    parameters = 70_553_706_496
    sent = parameters / 16 * 2 * 2 * 3 / 4
    assert iterations.packets_an_iteration() == int(sent / 2 / 4096)
    points = {
        (p["spines"], p["drop"]): p["iterations"] for p in iterations.points(False)
    }
    assert points[64, 0.015] == 1
    assert points[64, 0.005] <= 5
