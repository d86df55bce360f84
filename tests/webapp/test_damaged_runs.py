"""Damaged run folders: pages, twins and /metrics answer, and never with a 500."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.store import RunDirectory
from tests import run_builder as rb
from tests.webapp.conftest import RecordingLauncher
from webapp.app import create_app
from webapp.settings import Settings

FILES = ("meta.json", "ended.json", "results.json")
GARBAGE = {
    "empty": b"",
    "nul": b"\0" * 64,
    "no UTF-8": b"\xff\xfe{}",
    "another type": b"[1, 2]",
    "deep": b"[" * 200_000,
    "huge int": b"1" * 5_000,
}
VALUES = {
    "huge": 2**80,
    "huge float": 1e400,
    "nan": float("nan"),
    "lone surrogate": "\ud800",
    "nul": "a\0b",
    "negative": -(2**63) - 1,
}
PAGES = ("/runs", "/runs.json", "/metrics")
OF_RUN = ("", ".json", "/report/json")  # fmt: skip


@pytest.fixture
def quiet(root: Path, launcher: RecordingLauncher) -> TestClient:
    """A client to which an error in the application is an answer."""
    app = create_app(Settings(runs_root=root), launcher)
    return TestClient(
        app, base_url="http://127.0.0.1:8321", raise_server_exceptions=False
    )


def wrong_answers(client: TestClient, run: RunDirectory, broken: str) -> list[str]:
    wrong = []
    for path in (*PAGES, *(f"/runs/{run.run_id}{end}" for end in OF_RUN)):
        answer = client.get(path)
        if answer.status_code >= 500:
            wrong.append(f"{broken}: {path}: {answer.status_code} {answer.text[:90]}")
    return wrong


def mutations(path: Path) -> list[tuple[str, bytes]]:
    found = [(f"{path.name} {name}", data) for name, data in GARBAGE.items()]
    data = json.loads(path.read_text())
    for key in data:
        for name, value in VALUES.items():
            text = json.dumps({**data, key: value})
            found.append((f"{path.name} {key} {name}", text.encode()))
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_phase_file_ends_in_no_server_error(
    name: str, quiet: TestClient, root: Path
) -> None:
    run = rb.sdc_run(root)
    path = run.path / name
    wrong = []
    for broken, data in mutations(path):
        path.write_bytes(data)
        (root / "index.sqlite").unlink(missing_ok=True)
        wrong += wrong_answers(quiet, run, broken)
    assert wrong == []


def test_damaged_events_end_in_no_server_error(quiet: TestClient, root: Path) -> None:
    run = rb.sdc_run(root)
    [file] = [found for found in run.events.glob("*.jsonl")
              if b"VerdictIssued" in found.read_bytes()]  # fmt: skip
    lines = file.read_bytes().splitlines(keepends=True)
    record = next(json.loads(line) for line in lines if b"VerdictIssued" in line)
    damaged = dict(GARBAGE)
    for name, value in VALUES.items():
        for key in ("seq", "t_ns", "source", "type"):
            damaged[f"{key} {name}"] = json.dumps({**record, key: value}).encode()
        verdict = {**record["verdict"], "reason": value}
        damaged[f"reason {name}"] = json.dumps({**record, "verdict": verdict}).encode()
    wrong = []
    for broken, data in damaged.items():
        file.write_bytes(b"".join(lines[:2]) + data + b"\n" + b"".join(lines[2:]))
        wrong += wrong_answers(quiet, run, broken)
    assert wrong == []


def test_a_list_with_a_damaged_run_still_shows_the_others(
    client: TestClient, root: Path
) -> None:
    damaged, whole = rb.hang_run(root), rb.sdc_run(root)
    (damaged.path / "meta.json").write_bytes(GARBAGE["deep"])
    found = client.get("/runs.json").json()
    assert whole.run_id in str(found)
    assert damaged.run_id in str(found)
