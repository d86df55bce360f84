"""An analysis of brought-along dumps on the dashboard: a page that claims no run."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.flight_analysis import analyze, write
from harness.flight_folder import Folder
from tests.scout.dump_builder import calls, dump


@pytest.fixture
def run_id(root: Path) -> str:
    """An analysis that names rank2."""
    dumps = tuple(dump(r, calls(6, pending=r != 2)) for r in range(4))
    folder = Folder(path=Path("/dumps"), prefix="trace_", dumps=dumps, ignored=())
    return write(analyze(folder, silence_s=30.0), root, command="again").run_id


def test_the_page_names_the_culprit_and_offers_no_rerun(
    client: TestClient, run_id: str
) -> None:
    page = client.get(f"/runs/{run_id}")
    assert page.status_code == 200
    assert "rank2 stopped making progress" in page.text
    for absent in ("Run again", "Ground truth", "killed", "scenario.yaml"):
        assert absent not in page.text
    data = client.get(f"/runs/{run_id}.json").json()
    assert (data["kind"], data["outcome"]) == ("analysis", None)
    assert data["cards"][0]["blamed"] == ["rank2"]


def test_the_list_says_who_was_named(client: TestClient, run_id: str) -> None:
    assert "rank2 named; 1 group compared" in client.get("/runs").text


def test_it_cannot_be_launched_again(client: TestClient, run_id: str) -> None:
    answer = client.get(f"/launch?run={run_id}")
    assert 400 <= answer.status_code < 500
    assert "scenario.yaml" in answer.text
