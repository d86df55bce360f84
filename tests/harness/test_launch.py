"""A run is launched whole or not at all, and can be followed from outside."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import queue
from harness.errors import InfrastructureError
from harness.launch import cancel, follow, is_live, launch
from harness.store import RunDirectory, Store
from tests.harness.played import scenario
from tests.run_builder import RunBuilder, clean_run, scenario_of
from vocab.events import PhaseChanged, StepEnded

RUN = "20261130-221500-clean-0001"


class Started:
    """Stands for the harness's process: holds what it inherits until it is ended."""

    calls: list[tuple[list[str], dict[str, Any]]] = []

    def __init__(self, words: list[str], **options: Any) -> None:
        self.calls.append((words, options))

    def wait(self) -> int:
        return 0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> type[Started]:
    only_here = SimpleNamespace(Popen=Started, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr("harness.launch.subprocess", only_here)
    monkeypatch.setattr(Started, "calls", [])
    return Started


def test_a_launch_makes_the_directory_and_a_process_of_its_own(
    tmp_path: Path, started: type[Started]
) -> None:
    run = launch(scenario(), runs_root=tmp_path, name="Clean Run")
    meta = run.meta()
    assert meta is not None
    assert (meta.run_id, meta.title, meta.num_ranks) == (run.run_id, "played", 4)
    assert meta.command == f"faultyard run {run.path / 'scenario.yaml'}"
    assert meta.versions["torch"].startswith("2.13.0")
    [(words, options)] = started.calls
    assert words[1:4] == ["-m", "harness.run", str(run.path)]
    assert options["start_new_session"] is True
    assert options["env"]["FAULTYARD_RUN_ID"] == run.run_id
    assert options["env"]["FAULTYARD_RUNS_ROOT"] == str(tmp_path)
    assert [str(fd) for fd in options["pass_fds"]] == words[4:]


def test_the_command_that_repeats_a_run_is_kept(
    tmp_path: Path, started: type[Started]
) -> None:
    run = launch(scenario(), runs_root=tmp_path, name="x", command="faultyard run x")
    meta = run.meta()
    assert meta is not None
    assert meta.command == "faultyard run x"


def test_a_process_that_cannot_start_leaves_the_queue_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    only_here = SimpleNamespace(Popen=refuse, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr("harness.launch.subprocess", only_here)
    with pytest.raises(InfrastructureError, match="cannot start run"):
        launch(scenario(), runs_root=tmp_path, name="x")
    assert queue.live_run_ids(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match="runs folder"):
        launch(scenario(), runs_root=tmp_path / "file" / "runs", name="x")


def test_only_a_run_that_goes_on_can_be_cancelled(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path, scenario_of("clean"), RUN)
    run = builder.close()
    assert not cancel(run)
    ticket = queue.join(tmp_path, RUN)
    assert cancel(run)
    assert (run.control / "cancel").exists()
    ticket.leave()


def test_a_run_whose_ranks_are_gone_cannot_be_cancelled(tmp_path: Path) -> None:
    run = clean_run(tmp_path, RUN)  # it has ended.json
    ticket = queue.join(tmp_path, RUN)
    assert is_live(run)
    assert not cancel(run)
    assert not (run.control / "cancel").exists()
    ticket.leave()


def test_following_gives_every_event_once_and_stops_at_the_end(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path, scenario_of("clean"), RUN)
    ticket = queue.join(tmp_path, RUN)

    def go_on() -> None:
        for step in range(1, 6):
            builder.step(step)
            time.sleep(0.01)
        ticket.leave()
        builder.close()

    thread = threading.Thread(target=go_on)
    thread.start()
    found = [
        stamped.event.step
        for batch in follow(builder.run, poll_s=0.001)
        for stamped in batch.events
        if isinstance(stamped.event, StepEnded)
    ]
    thread.join()
    assert sorted(found) == sorted([1, 2, 3, 4, 5] * 4)


def test_following_can_go_on_from_a_cursor(tmp_path: Path) -> None:
    run: RunDirectory = clean_run(tmp_path, RUN)
    [first] = follow(run)
    [again] = follow(run, cursor=first.cursor)
    assert any(isinstance(item.event, PhaseChanged) for item in first.events)
    assert again.events == ()


def test_a_launched_run_is_in_the_store(tmp_path: Path, started: type[Started]) -> None:
    run = launch(scenario(), runs_root=tmp_path, name="x")
    assert [item.run_id for item in Store(tmp_path).runs()] == [run.run_id]
