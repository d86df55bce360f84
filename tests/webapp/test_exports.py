"""Reports can be taken away, and no path leaves the run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.report import render
from harness.store import RunDirectory
from tests import run_builder as rb
from webapp.routes.exports import inside


@pytest.mark.parametrize(
    ("format", "name", "kind"),
    [
        ("html", "html", "text/html"),
        ("json", "json", "application/json"),
        ("junit", "junit.xml", "application/xml"),
    ],
)
def test_a_report_is_a_file_to_keep(
    client: TestClient, root: Path, format: str, name: str, kind: str
) -> None:
    run = rb.sdc_run(root)
    answer = client.get(f"/runs/{run.run_id}/report/{format}")
    assert answer.headers["content-type"].startswith(kind)
    assert f'filename="{run.run_id}.{name}"' in answer.headers["content-disposition"]
    assert answer.content == render(run, format)


def planted(root: Path) -> RunDirectory:
    """A run with links and files that must not be served."""
    run = rb.sdc_run(root)
    (root / "secret").write_text("hunter2")
    (run.logs / "rank0.log").write_text("<b>hello</b>")
    (run.logs / "away").symlink_to(root / "secret")
    (run.path / "evidence" / "up").symlink_to(root)
    (run.control / "cancel").write_text("")
    return run


@pytest.mark.parametrize(
    "path",
    [
        "../secret", "logs/../../secret", "logs/away", "evidence/up/secret",
        "/etc/passwd", "//etc/passwd", "control/cancel", "control", "logs", "",
        ".", "..", "logs/..", "events/../control/cancel", "scenario.yaml/x",
        "%2e%2e/secret", "..%2fsecret", "logs/\x00", "a" * 5000,
    ],
)  # fmt: skip
def test_no_path_leaves_the_folder(client: TestClient, root: Path, path: str) -> None:
    run = planted(root)
    assert inside(run.path, path) is None
    answer = client.get(f"/runs/{run.run_id}/files/{path.replace(chr(0), '%00')}")
    # The client itself takes "." and "..": it asks for the run's page, and no file.
    assert answer.status_code == 404 or path in (".", "..", "logs/..")
    assert "hunter2" not in answer.text


def test_the_runs_own_files_are_served_as_plain_text(
    client: TestClient, root: Path
) -> None:
    run = planted(root)
    for path in ("scenario.yaml", "meta.json", "events/rank0.jsonl", "logs/rank0.log"):
        answer = client.get(f"/runs/{run.run_id}/files/{path}")
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.content == (run.path / path).read_bytes()
