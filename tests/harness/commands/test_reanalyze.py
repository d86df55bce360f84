"""Other settings on stored evidence, beside what the run itself decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import main
from harness.store import RunDirectory
from tests.run_builder import sdc_run


def analyze(run: RunDirectory, *options: str) -> int:
    return main(["analyze", run.run_id, "--runs-dir", str(run.path.parent), *options])


def test_a_run_is_decided_again_beside_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = sdc_run(tmp_path)
    before = (run.events / "rank0.jsonl").read_bytes()
    options = ("--kappa", "7", "--confirmations", "3", "--silence", "9", "--json")
    assert analyze(run, *options) == 0
    told = json.loads(capsys.readouterr().out)
    settings = told["again"]["settings"]
    assert (settings["kappa"], settings["confirmations"]) == (7, 3)
    assert settings["silence_s"] == 9
    for side in ("original", "again"):  # no setting of timings moves exact consensus
        assert [item["blamed"] for item in told[side]["verdicts"]] == [["rank2"]]
    assert (run.events / "rank0.jsonl").read_bytes() == before


def test_the_table_has_a_row_for_each_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyze(sdc_run(tmp_path), "--kappa", "7") == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == ["original", "again"]


def test_a_wrong_setting_names_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyze(sdc_run(tmp_path), "--kappa", "0") == 64
    assert "kappa is 0.0; allowed: above 0" in capsys.readouterr().err


def test_missing_evidence_decides_nothing(tmp_path: Path) -> None:
    run = sdc_run(tmp_path)
    (run.events / "rank1.jsonl").unlink()
    assert analyze(run, "--kappa", "7") == 2


def test_the_command_for_dumps_is_not_taken_for_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = tmp_path / "absent"
    assert main(["analyze", "flight-recorder", str(absent)]) == 64
    assert "allowed: a folder of dumps" in capsys.readouterr().err
