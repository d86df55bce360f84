"""A headless Chromium and a real server process; skipped, by name, where missing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCREENSHOTS = REPOSITORY / "test-output" / "screenshots"
CHROMIUM_ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Server:
    """`faultyard serve` on a port of its own; can be killed and started again."""

    def __init__(self, runs_root: Path) -> None:
        self.runs_root = runs_root
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it answers."""
        program = "from harness.cli import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, "serve", "--port", str(self.port),
             "--runs-dir", str(self.runs_root)],
            cwd=REPOSITORY, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/static/icon.svg", timeout=1).close()
                return
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for all tests here.

    Not for the session: playwright keeps an event loop running in this thread, and
    later tests of other packages run loops of their own.
    """
    missing = []
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing.append("chromium on PATH (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing.append("playwright (pip install playwright)")
    if missing:
        message = f"the browser tests need {' and '.join(missing)}"
        if "browser" in os.environ.get("REQUIRE", ""):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield found
        found.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running server over an empty runs folder."""
    found = Server(tmp_path / "runs")
    found.start()
    yield found
    found.kill()
