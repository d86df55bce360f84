"""The queue page and the proof of a clean state."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from harness import queue
from harness.launch import CANCEL
from tests import run_builder as rb


def test_the_queue_shows_who_runs_who_waits_and_who_is_ending(
    client: TestClient, root: Path
) -> None:
    runs = [rb.sdc_run(root, f"20261130-22160{i}-a-000{i}", until="verdict")
            for i in range(3)]  # fmt: skip
    tickets = [queue.join(root, run.run_id) for run in runs]
    try:
        states = [item["state"] for item in _queue(client)["waiting"]]
        assert states == ["running", "waiting", "waiting"]
        (runs[0].control / CANCEL).touch()
        assert _queue(client)["waiting"][0]["state"] == "ending"
        assert f'id="cancel-{runs[1].run_id}"' in client.get("/queue").text
    finally:
        for ticket in tickets:
            ticket.leave()


def test_an_ended_run_shows_what_it_left_until_it_is_gone(
    client: TestClient, root: Path
) -> None:
    run = rb.sdc_run(root)
    (run.control / "cancel").touch()
    view = client.get(f"/runs/{run.run_id}/clean.json").json()
    left = {place["name"]: place["left"] for place in view["state"]["places"]}
    assert (view["is_clean"], left["control files"]) == (False, ["cancel"])
    page = client.get(f"/runs/{run.run_id}/clean").text
    assert 'hx-trigger="every 2s"' in page
    (run.control / "cancel").unlink()
    page = client.get(f"/runs/{run.run_id}/clean").text
    assert "nothing left" in page
    assert "hx-trigger" not in page
    assert _queue(client)["ended"][0]["is_clean"]


def _queue(client: TestClient) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = client.get("/queue.json").json()
    return found
