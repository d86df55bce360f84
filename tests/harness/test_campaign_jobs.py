"""A real campaign that is killed in the middle, and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.campaign_journal import Journal
from harness.store import Store
from tests.repo.source import ROOT

pytestmark = pytest.mark.jobs

CAMPAIGN = """
title: Three short runs
parts:
  - {name: controls, scenarios: [short.yaml], seeds: [1, 2, 3]}
"""
SHORT = """
title: Short
steps: 3
workload: {parallel: {replicate: 2}, num_layers: 1, step_pause_s: 0.3}
scout: {replay_every: 2, silence_s: 20}
"""
DEADLINE_S = 120.0


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "campaign", str(folder / "three.yaml"),
         "--out", str(folder / "out"), *words],
        cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip


def wait_for_second_case(journal: Journal) -> str:
    """Until the first case is finished and the second one's run goes on."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        current = journal.current()
        if current and current[0][0].endswith("s2"):
            return current[0][1]
        time.sleep(0.05)
    raise TimeoutError("the campaign did not come to its second case")


def lines_of(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "out" / "cases.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_killed_campaign_runs_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "three.yaml").write_text(CAMPAIGN)
    (tmp_path / "short.yaml").write_text(SHORT)
    journal = Journal(tmp_path / "out")
    with start(tmp_path) as first:
        second_run = wait_for_second_case(journal)
        os.kill(first.pid, signal.SIGKILL)
    before = lines_of(tmp_path)
    assert [line["case_id"] for line in before] == ["controls/short/v1/s1"]

    with start(tmp_path, "--resume", "--json") as resumed:
        assert resumed.stdout is not None
        summary = json.loads(resumed.stdout.read())
    after = lines_of(tmp_path)
    assert resumed.returncode == 0, summary["not_passed"]
    assert after[:1] == before
    assert [line["case_id"][-2:] for line in after] == ["s1", "s2", "s3"]
    assert after[1]["run_id"] == second_run  # taken over, not made again
    assert len(Store(journal.runs).runs()) == 3
    assert summary["outcomes"] == {"pass": 3}
    assert summary["num_planned"] == summary["num_finished"] == 3
    false_blames = summary["scores"][-1]["false_blames"]
    assert (false_blames["k"], false_blames["n"]) == (0, 3)

    with start(tmp_path, "--resume", "--json") as again:  # nothing is left to do
        again.communicate()
    assert (again.returncode, lines_of(tmp_path)) == (0, after)
