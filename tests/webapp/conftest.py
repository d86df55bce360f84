"""A dashboard over a temporary runs folder, with a launcher that starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness.scenario import Scenario
from harness.store import RunDirectory
from tests import run_builder as rb
from webapp.app import create_app
from webapp.settings import Settings


class RecordingLauncher:
    """Notes what it was asked, and makes a run directory without processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.launched: list[tuple[Scenario, str, str | None]] = []
        self.cancelled: list[str] = []
        self.is_going = True

    def launch(
        self, scenario: Scenario, *, name: str, command: str | None
    ) -> RunDirectory:
        """Make the folder only."""
        self.launched.append((scenario, name, command))
        run_id = f"20261130-2300{len(self.launched):02d}-made-{len(self.launched):04x}"
        return rb.RunBuilder(self.root, scenario, run_id).close()

    def cancel(self, run: RunDirectory) -> bool:
        """Note the request."""
        self.cancelled.append(run.run_id)
        return self.is_going


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The runs folder."""
    return tmp_path / "runs"


@pytest.fixture
def launcher(root: Path) -> RecordingLauncher:
    """The launcher of `client`."""
    return RecordingLauncher(root)


@pytest.fixture
def client(root: Path, launcher: RecordingLauncher) -> Iterator[TestClient]:
    """A browserless client that asks as the dashboard's own page would."""
    app = create_app(Settings(runs_root=root, stream_poll_s=0.001), launcher)
    with TestClient(
        app, base_url="http://127.0.0.1:8321", follow_redirects=False
    ) as found:
        yield found
