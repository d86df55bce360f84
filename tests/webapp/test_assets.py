"""Everything that a page loads comes from this server, in the pinned version."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests import run_builder as rb

STATIC = Path(__file__).parents[2] / "webapp" / "static"
VENDOR = STATIC / "vendor"


def test_vendored_files_are_those_of_the_table() -> None:
    rows = re.findall(r"\| `([^`]+)` \|.*\(`([^`]+)`\) \| `([0-9a-f]{64})` \|",
                      (VENDOR / "README.md").read_text())  # fmt: skip
    found = {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".woff2")}
    assert {name for name, _, _ in rows} == found
    for name, licence, digest in rows:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
        assert (VENDOR / licence).is_file()


@pytest.mark.parametrize("path", ["/scenarios", "/runs", "/launch", "RUN"])
def test_pages_load_only_what_this_server_has(
    client: TestClient, root: Path, path: str
) -> None:
    run = rb.sdc_run(root)
    page = client.get(f"/runs/{run.run_id}" if path == "RUN" else path).text
    loaded = re.findall(r'<(?:script|link|img)[^>]*?(?:src|href)="([^"]+)"', page)
    assert loaded
    for address in loaded:
        assert address.startswith("/static/")
        assert client.get(address).status_code == 200, address
    assert not re.search(r"<script(?![^>]*src=)", page)  # the policy allows none inline
    assert not re.search(r'\son[a-z]+="', page)


@pytest.mark.parametrize("name", ["app.css", "app.js"])
def test_our_own_files_fetch_nothing_from_elsewhere(name: str) -> None:
    assert not re.search(r"(https?:)?//[a-z]+\.[a-z]", (STATIC / name).read_text())


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/", "/static/nope.js"],
)
def test_static_files_stay_inside_their_folder(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_theme_is_that_of_the_palette(client: TestClient) -> None:
    css = client.get("/static/theme.css").text
    assert "prefers-color-scheme:dark" in css
    assert "data-theme=dark" in css
