"""The demo's table and exit code, on runs that were played before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import cli
from harness.commands import demo
from harness.scenario import catalogue
from harness.store import RunDirectory
from tests import run_builder


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, RunDirectory]:
    """Passing runs by scenario (which ones is no matter); a test may exchange some."""
    makers = (
        run_builder.clean_run, run_builder.sdc_run, run_builder.straggler_run,
        run_builder.straggler_run,
    )  # fmt: skip
    runs = {
        name: make(tmp_path / name)
        for name, make in zip(demo.SCENARIOS, makers, strict=True)
    }
    monkeypatch.setattr(demo, "launch_and_watch", lambda scenario, name, *_: runs[name])
    return runs


def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        demo, "serve_runs", lambda folder, **where: calls.append((folder, where)) or 0
    )
    return calls


def test_the_demo_s_scenarios_ship() -> None:
    assert set(demo.SCENARIOS) <= set(catalogue())


def test_expected_stands_beside_found(
    played: dict[str, RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["demo", "--no-serve"]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if line.startswith("sdc-parameter ")]
    assert "SDC of rank2, steps 5 to 8" in line
    assert "rank2 computes wrong values" in line
    assert line.split()[-1] == "pass"
    assert "All four found exactly what they were to find." in out


def test_one_wrong_finding_fails_the_demo(
    played: dict[str, RunDirectory], tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    played["clean"] = run_builder.hang_run(tmp_path / "wrong")
    calls = served(monkeypatch)
    assert cli.main(["demo"]) == 1
    out = capsys.readouterr().out
    assert "All four" not in out
    assert "clean: " in out
    assert calls == []


def test_then_the_dashboard_is_served(
    played: dict[str, RunDirectory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = served(monkeypatch)
    assert cli.main(["demo", "--runs-dir", str(tmp_path), "--port", "9999"]) == 0
    assert calls == [(tmp_path, {"host": "127.0.0.1", "port": 9999})]
