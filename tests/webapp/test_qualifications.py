"""Qualifications in the dashboard: list, matrix, downloads, start, cancel, resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.errors import UsageError
from harness.qualification_report import FORMATS, write_all
from harness.qualify_folder import PROCESS, QualificationFolder, shipped
from harness.qualify_run import load
from tests.harness.played_suite import PlayedRuns, qualified

ORIGIN = {"origin": "http://127.0.0.1:8321"}


@pytest.fixture
def played(root: Path) -> Path:
    """A qualification that is over, where the page looks for them."""
    folder = root.parent / "qualifications" / "played"
    qualified(folder.parent / "made", PlayedRuns())
    os.rename(folder.parent / "made" / "out", folder)
    write_all(load(folder), folder)
    return folder


def test_the_list_shows_what_ships_and_what_was_begun(
    client: TestClient, played: Path
) -> None:
    twin = client.get("/qualifications.json").json()
    assert [item["name"] for item in twin["begun"]] == ["played"]
    assert twin["begun"][0]["num_finished"] == twin["begun"][0]["num_planned"] == 11
    assert "smoke" in {suite["name"] for suite in twin["suites"]}
    page = client.get("/qualifications").text
    assert 'href="/qualifications/played"' in page
    assert 'name="suite" value="smoke"' in page


def test_page_and_twin_show_the_same_matrix_and_ruling(
    client: TestClient, played: Path
) -> None:
    twin = client.get("/qualifications/played.json").json()
    page = client.get("/qualifications/played").text
    assert twin["is_live"] is False
    assert twin["report"]["ruling"] == "pass"
    assert 'data-figure="ruling">Pass' in page
    for row in twin["rows"]:
        assert f'data-row="{row["name"]}"' in page
    assert 'data-live="ended"' in page


@pytest.mark.parametrize("format", [*FORMATS, "evidence"])
def test_every_format_can_be_taken_away(
    client: TestClient, played: Path, format: str
) -> None:
    answer = client.get(f"/qualifications/played/report/{format}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    if format not in ("evidence", "pdf"):
        suffix = FORMATS[format].suffix
        assert answer.content == (played / f"report.{suffix}").read_bytes()


def test_what_is_not_there_is_named(client: TestClient, played: Path) -> None:
    assert client.get("/qualifications/gone").status_code == 404
    assert client.get("/qualifications/..%2fruns").status_code == 404
    wrong = client.get("/qualifications/played/report/doc")
    assert wrong.status_code == 404
    assert "allowed: html" in wrong.json()["error"]["message"]
    answer = client.post("/qualifications", data={"suite": "gone"}, headers=ORIGIN)
    assert answer.status_code == 422
    assert "allowed:" in answer.json()["error"]["message"]


def test_only_suites_with_controls_and_criteria_are_offered() -> None:
    assert {suite.name for suite in shipped()} == {"smoke"}
    assert shipped()[0].num_cases == 27


def test_cancel_ends_that_command_and_no_other(tmp_path: Path) -> None:
    folder = QualificationFolder(tmp_path)
    here = folder.path("mine")
    here.mkdir()
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    stranger = subprocess.Popen(command)
    named = subprocess.Popen([*command, "qualify", str(here)])
    while b"qualify" not in Path(f"/proc/{named.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    try:
        (here / PROCESS).write_text(f'{{"pid": {stranger.pid}}}')
        assert not folder.cancel("mine")
        (here / PROCESS).write_text(f'{{"pid": {named.pid}}}')
        assert folder.cancel("mine")
        assert named.wait(10) == -signal.SIGTERM
        assert stranger.poll() is None
    finally:
        for process in (stranger, named):
            process.kill()
            process.wait()
    assert not folder.cancel("mine")
    with pytest.raises(UsageError, match="no qualification"):
        folder.path("../x")


@pytest.mark.jobs
def test_a_suite_begun_from_the_page_runs_and_can_be_cancelled_and_resumed(
    client: TestClient, root: Path
) -> None:
    folder = QualificationFolder(root.parent / "qualifications")

    def until(is_so: object, within_s: float = 40) -> None:
        deadline = time.monotonic() + within_s
        while not is_so():  # type: ignore[operator]
            assert time.monotonic() < deadline
            time.sleep(0.1)

    begun = client.post("/qualifications", data={"suite": "smoke"}, headers=ORIGIN)
    assert begun.headers["location"] == "/qualifications/smoke"
    until(lambda: folder.names() == ["smoke"] and folder.running("smoke"))
    page = client.get("/qualifications/smoke")
    assert 'data-live="live"' in page.text
    again = client.post("/qualifications", data={"suite": "smoke"}, headers=ORIGIN)
    assert again.status_code == 422
    client.post("/qualifications/smoke/cancel", headers=ORIGIN)
    until(lambda: not folder.is_live("smoke"))
    assert "Resume, " in client.get("/qualifications/smoke").text
