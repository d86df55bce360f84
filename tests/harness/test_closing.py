"""A killed run gets results that say what was killed; every other run is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import queue
from harness.cli import main
from harness.closing import close, close_killed
from harness.results import Outcome
from harness.views.listing import row
from tests.run_builder import clean_run, hang_run, killed_run, sdc_run


def test_a_run_killed_while_it_ran_is_an_infrastructure_error(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    assert [closed.run_id for closed in close_killed(tmp_path)] == [run.run_id]
    results, ended = run.results(), run.ended()
    assert results is not None
    assert ended is not None
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert results.reason.startswith("killed: the harness, while the run was running")
    assert "rank0, rank1, rank2, rank3 ended with it; last step" in results.reason
    assert ended.reason == "killed"
    assert results.num_verdicts == 1  # what it had found is still told
    assert row(run).outcome is Outcome.INFRASTRUCTURE


def test_a_run_killed_before_its_check_is_checked_on_its_events(tmp_path: Path) -> None:
    run = sdc_run(tmp_path)
    ended = run.ended()
    (run.path / "results.json").unlink()
    assert close(run)
    results = run.results()
    assert results is not None
    assert results.outcome is Outcome.PASS
    assert [item.found_step for item in results.incidents] == [6]
    assert run.ended() == ended


def test_a_living_run_is_not_closed(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    ticket = queue.join(tmp_path, run.run_id)
    assert close_killed(tmp_path) == []
    ticket.leave()
    assert close_killed(tmp_path) != []


def test_runs_with_results_stay_byte_for_byte(tmp_path: Path) -> None:
    runs = [clean_run(tmp_path), hang_run(tmp_path)]
    before = [(run.path / "results.json").read_bytes() for run in runs]
    assert close_killed(tmp_path) == []
    assert [(run.path / "results.json").read_bytes() for run in runs] == before


def test_a_run_killed_before_its_first_event_names_no_duration(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    for path in run.events.iterdir():
        path.unlink()
    assert close(run)
    ended = run.ended()
    assert ended is not None
    assert (ended.wall_s, ended.first_step_s) == (None, None)
    assert "while the run was queued" in ended.detail


def test_a_run_whose_scenario_is_gone_claims_nothing(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    (run.path / "scenario.yaml").unlink()
    assert close(run)
    results = run.results()
    assert results is not None
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert "the check itself failed" in results.reason


@pytest.mark.parametrize("command", ["clean", "reindex"])
def test_clean_and_reindex_close_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    run = killed_run(tmp_path)
    assert main([command, "--runs-dir", str(tmp_path)]) == 0
    assert f"{run.run_id}: it was killed" in capsys.readouterr().out
    assert main(["show", run.run_id, "--json", "--runs-dir", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "infrastructure-error"
