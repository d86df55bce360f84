"""A warm process saves time and changes nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.processes import MARK, ROOT_MARK, end, marked, state_of
from harness.runtime import warm
from harness.runtime.environ_mark import ROOM, ROOM_BYTES, MarkRoom, room
from harness.runtime.process import ProcessRuntime, prepare
from harness.runtime.warm import TEMPLATE, AdoptedZygote, kept_warm
from tests.conformance.test_runtime import collect
from tests.harness.runtime.test_process import STANDIN, await_starts, gone


def start(folder: Path, run_id: str, behaviour: dict[str, object]) -> ProcessRuntime:
    (folder / "logs").mkdir(parents=True)
    (folder / "standin.json").write_text(json.dumps(behaviour))
    runtime = prepare(str(folder), run_id, workload=STANDIN)
    runtime.start(len(behaviour))
    return runtime


def is_adopted(runtime: ProcessRuntime) -> bool:
    return isinstance(runtime._zygote, AdoptedZygote)


def test_each_run_has_its_own_zygote_and_marks(tmp_path: Path) -> None:
    with kept_warm(STANDIN):
        runs = {
            name: start(tmp_path / "runs" / name, name, {"0": "wait"})
            for name in ("test-warm-a", "test-warm-b")
        }
        assert all(is_adopted(runtime) for runtime in runs.values())
        for name, runtime in runs.items():
            pids = {runtime.zygote_pid, *await_starts(runtime, 1).values()}
            assert {process.pid for process in marked(name)} == pids
            assert {p.runs_root for p in marked(name)} == {str(tmp_path / "runs")}
        assert {p.name for p in end("test-warm-a")} == {"zygote", "rank0"}
        assert len(marked("test-warm-b")) == 2
        for runtime in runs.values():
            runtime.stop(0.0)
        assert marked("test-warm-b") == []


def test_a_run_goes_on_when_its_template_is_gone(tmp_path: Path) -> None:
    with kept_warm(STANDIN):
        runtime = start(tmp_path / "run", "test-warm-left", {"0": "wait", "1": "wait"})
        pids = await_starts(runtime, 2)
    assert state_of(pids[0]) != "gone"
    assert runtime.signal(0, signal.SIGTERM)
    assert len(collect(runtime, 1)) == 1
    runtime.stop(0.0)
    assert gone([runtime.zygote_pid, *pids.values()])


def test_without_a_living_template_a_run_starts_cold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TEMPLATE, "faultyard-warm-nobody")
    runtime = start(tmp_path / "run", "test-warm-cold", {"0": 0})
    assert not is_adopted(runtime)
    collect(runtime, 1)
    runtime.stop(0.0)


def test_a_template_of_older_code_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_warm(STANDIN):
        monkeypatch.setattr(warm, "source_stamp", lambda: "edited since")
        runtime = start(tmp_path / "run", "test-warm-stale", {"0": 0})
        assert not is_adopted(runtime)
        collect(runtime, 1)
        runtime.stop(0.0)


def test_a_template_of_another_workload_is_not_used(tmp_path: Path) -> None:
    with kept_warm("tests.conformance"):  # has no warm_up: it ends at once
        runtime = start(tmp_path / "run", "test-warm-other", {"0": 0})
        assert not is_adopted(runtime)
        collect(runtime, 1)
        runtime.stop(0.0)


def test_the_template_ends_with_its_keeper_even_when_that_is_killed() -> None:
    script = (
        "import sys; from harness.runtime.warm import kept_warm\n"
        f"with kept_warm({STANDIN!r}):\n    print('up', flush=True); sys.stdin.read()"
    )
    keeper = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"up\n"
        [template] = children_of(keeper.pid)
        keeper.kill()
    assert gone([template])


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in listed.split()]


def test_marks_that_do_not_fit_are_refused() -> None:
    script = (
        "from harness.runtime.environ_mark import MarkRoom\n"
        "import os; place = MarkRoom.take()\n"
        "assert 'FAULTYARD_ROOM' not in os.environ\n"
        f"place.mark({{'K': 'x' * {ROOM_BYTES + 20}}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **room()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"allowed: {ROOM_BYTES + len(ROOM) + 1}" in done.stderr


def test_a_process_without_room_is_told_what_is_missing() -> None:
    with pytest.raises(ValueError, match=ROOM):
        MarkRoom.take()


def test_the_marks_are_the_ones_that_processes_are_found_by() -> None:
    assert {MARK, ROOT_MARK} == {"FAULTYARD_RUN_ID", "FAULTYARD_RUNS_ROOT"}
