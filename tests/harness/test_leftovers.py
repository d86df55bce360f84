"""What killed runs left is removed; what lives, or is not ours, stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import leftovers, queue
from harness.processes import MARK, ROOT_MARK, marked
from harness.store import RunDirectory
from injectors.cpu_cgroup import controller
from injectors.errors import CannotInject
from tests.run_builder import clean_run

DEAD = "20261130-221500-clean-dead"
LIVE = "20261130-221501-clean-beef"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(leftovers, "SHARED", folder)
    return folder


@pytest.fixture
def spawn() -> Iterator[object]:
    spawned: list[subprocess.Popen[bytes]] = []

    def spawn(run_id: str, runs_root: Path) -> subprocess.Popen[bytes]:
        environment = {**os.environ, MARK: run_id, ROOT_MARK: str(runs_root)}
        process = subprocess.Popen(["sleep", "600"], env=environment)
        spawned.append(process)
        return process

    yield spawn
    for process in spawned:
        process.kill()
        process.wait()


def leave_files(run: RunDirectory, shared: Path) -> list[Path]:
    paths = [
        shared / f"faultyard-{run.run_id}-17-rank0.ring",
        run.control / "cancel",
        run.path.parent / f".draft-{run.run_id}" / "meta.json",
    ]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return paths


def test_files_of_a_dead_run_are_removed_and_its_records_stay(
    root: Path, shared: Path
) -> None:
    run = clean_run(root, DEAD)
    records = sorted(path.name for path in run.path.iterdir())
    paths = leave_files(run, shared)
    removed = leftovers.sweep(root)
    assert len(removed) == 3
    assert {item.run_id for item in removed} == {DEAD}
    assert not any(path.exists() for path in paths)
    assert sorted(path.name for path in run.path.iterdir()) == records
    assert run.results() is not None
    assert leftovers.sweep(root) == []


def test_a_living_run_keeps_everything(root: Path, shared: Path) -> None:
    run = clean_run(root, LIVE)
    paths = leave_files(run, shared)
    ticket = queue.join(root, LIVE)
    assert leftovers.sweep(root) == []
    assert all(path.exists() for path in paths)
    assert len(leftovers.sweep(root, also_live=True)) == 3
    ticket.leave()


def test_a_spared_run_keeps_everything(root: Path, shared: Path) -> None:
    paths = leave_files(clean_run(root, DEAD), shared)
    assert leftovers.sweep(root, spare=(DEAD,)) == []
    assert all(path.exists() for path in paths)


def test_shared_files_of_others_stay(root: Path, shared: Path) -> None:
    clean_run(root, DEAD)
    others = [shared / "faultyard-job-1-rank0.ring", shared / "psm_1234"]
    for path in others:
        path.write_text("")
    assert leftovers.sweep(root) == []
    assert all(path.exists() for path in others)


def test_processes_of_a_dead_run_are_ended(
    root: Path, shared: Path, spawn: object
) -> None:
    clean_run(root, DEAD)
    ours = spawn(DEAD, root)  # type: ignore[operator]
    [removed] = leftovers.sweep(root)
    assert (removed.what, removed.run_id) == (f"process {ours.pid} (sleep)", DEAD)
    assert ours.wait(5) == -9


def test_a_process_is_ended_even_if_its_run_folder_is_gone(
    root: Path, shared: Path, spawn: object
) -> None:
    root.mkdir()
    ours = spawn(DEAD, root)  # type: ignore[operator]
    assert len(leftovers.sweep(root)) == 1
    assert ours.wait(5) == -9


def test_processes_of_living_runs_and_of_other_folders_stay(
    root: Path, shared: Path, spawn: object, tmp_path: Path
) -> None:
    clean_run(root, LIVE)
    ticket = queue.join(root, LIVE)
    spawn(LIVE, root)  # type: ignore[operator]
    spawn(DEAD, tmp_path / "other")  # type: ignore[operator]
    assert leftovers.sweep(root) == []
    assert len(marked(LIVE)) == 1
    assert len(marked(DEAD)) == 1
    ticket.leave()


def test_dead_tickets_are_removed(root: Path, shared: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from harness import queue\n"
        "queue.join(Path(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, str(root), DEAD], check=True)
    [removed] = leftovers.sweep(root)
    assert removed.what == f"queue ticket 00000001-{DEAD}"


def test_a_folder_that_is_not_there_has_nothing_to_remove(
    root: Path, shared: Path
) -> None:
    assert leftovers.sweep(root) == []
    assert not root.exists()


def _cpu_folder() -> Path | None:
    try:
        folder = controller().folder
    except CannotInject:
        return None
    return folder if os.access(folder, os.W_OK) else None


@pytest.mark.skipif(_cpu_folder() is None, reason="no CPU cgroup that we may write")
def test_a_cpu_cgroup_of_a_dead_run_is_removed_and_no_other(tmp_path: Path) -> None:
    folder = _cpu_folder()
    assert folder is not None
    run = clean_run(tmp_path)
    ours = folder / f"faultyard-{run.run_id}-rank1"
    other = folder / f"faultyard-{run.run_id[:-4]}ffff-rank1"
    ours.mkdir()
    other.mkdir()
    try:
        found = leftovers.sweep(tmp_path)
        assert [item.what for item in found] == [f"CPU cgroup {ours}"]
        assert not ours.exists()
        assert other.exists()
        assert leftovers.sweep(tmp_path) == []
    finally:
        other.rmdir()
        if ours.exists():
            ours.rmdir()
