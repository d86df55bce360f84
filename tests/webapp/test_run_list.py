"""The list of runs: filters with counts, pages, links that keep both."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from tests import run_builder as rb


def test_filters_show_how_many_each_would_leave(client: TestClient, root: Path) -> None:
    sdc, clean, killed = rb.sdc_run(root), rb.clean_run(root), rb.killed_run(root)
    twin = client.get("/runs.json").json()
    assert twin["num_runs"] == 3
    assert twin["by_outcome"] == {"pass": 2, "unfinished": 1}
    passed = client.get("/runs.json?outcome=pass").json()
    assert {run["run_id"] for run in passed["runs"]} == {sdc.run_id, clean.run_id}
    assert passed["by_outcome"] == twin["by_outcome"]
    assert sum(passed["by_scenario"].values()) == 2
    open_runs = client.get("/runs.json?outcome=unfinished").json()
    assert [run["run_id"] for run in open_runs["runs"]] == [killed.run_id]


def test_a_scenario_and_an_outcome_filter_together(
    client: TestClient, root: Path
) -> None:
    rb.sdc_run(root)
    rb.clean_run(root)
    [name] = {run["scenario_name"] for run in client.get("/runs.json").json()["runs"]
              if "sdc" in run["run_id"]}  # fmt: skip
    found = client.get(f"/runs.json?outcome=pass&scenario={name}").json()
    assert found["num_runs"] == found["by_outcome"]["pass"]
    page = client.get(f"/runs?outcome=pass&scenario={name}").text
    assert f'<option value="{name}" selected>' in page
    assert "match, newest first" in page
    empty = client.get("/runs?outcome=cancelled").text
    assert "No run matches." in empty


def test_an_unknown_outcome_is_named(client: TestClient) -> None:
    answer = client.get("/runs.json?outcome=good")
    assert answer.status_code == 422
    assert "outcome" in answer.json()["error"]["message"]
