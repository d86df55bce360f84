"""What only the process runtime does: exits, logs, nothing left after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.processes import marked, state_of
from harness.runtime.base import RankExit, RankStarted, RuntimeLost
from harness.runtime.process import ProcessRuntime, prepare
from harness.runtime.warm import kept_warm
from tests.conformance.test_runtime import collect

STANDIN = "tests.conformance.standin"
Start = Callable[[dict[str, object]], ProcessRuntime]


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    return f"test-{tmp_path.name}"


@pytest.fixture(params=["cold", "warm"])
def start(
    request: pytest.FixtureRequest, tmp_path: Path, run_id: str
) -> Iterator[Start]:
    with kept_warm(STANDIN) if request.param == "warm" else nullcontext():
        yield from starter(tmp_path, run_id)


def starter(tmp_path: Path, run_id: str) -> Iterator[Start]:
    made: list[ProcessRuntime] = []

    def start(behaviour: dict[str, object]) -> ProcessRuntime:
        (tmp_path / "logs").mkdir()
        (tmp_path / "standin.json").write_text(json.dumps(behaviour))
        runtime = prepare(str(tmp_path), run_id, workload=STANDIN)
        made.append(runtime)
        runtime.start(len(behaviour))
        return runtime

    yield start
    for runtime in made:
        runtime.stop(0.0)


def await_starts(runtime: ProcessRuntime, num: int) -> dict[int, int]:
    pids: dict[int, int] = {}
    while len(pids) < num:
        for item in runtime.poll(20.0):
            assert isinstance(item, RankStarted), item
            pids[item.rank] = item.pid
    return pids


def gone(pids: list[int], within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if all(state_of(pid) in ("gone", "Z") for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_exit_codes_and_signals_are_told_apart(start: Start) -> None:
    runtime = start({"0": 0, "1": 7, "2": "raise", "3": "wait"})
    news = collect(runtime, 3)
    assert runtime.signal(3, signal.SIGABRT)
    news += collect(runtime, 1)
    exits = {
        item.rank: (item.exit_code, item.signal)
        for item in news
        if isinstance(item, RankExit)
    }
    assert exits == {0: (0, None), 1: (7, None), 2: (1, None), 3: (None, 6)}


def test_output_and_tracebacks_are_in_the_rank_s_log(
    start: Start, tmp_path: Path
) -> None:
    collect(start({"0": 0, "1": "raise"}), 2)
    assert (tmp_path / "logs/rank0.log").read_text() == "hello from rank 0 of 2\n"
    assert "RuntimeError: as told" in (tmp_path / "logs/rank1.log").read_text()


def test_stop_ends_ranks_that_are_stopped_or_deaf(start: Start, tmp_path: Path) -> None:
    runtime = start({"0": "wait", "1": "deaf", "2": "wait"})
    pids = await_starts(runtime, 3)
    while "deaf" not in (tmp_path / "logs/rank1.log").read_text():
        assert runtime.poll(0.02) == ()
    assert runtime.signal(0, signal.SIGSTOP)
    exits = {
        item.rank: item.signal
        for item in runtime.stop(0.3)
        if isinstance(item, RankExit)
    }
    assert exits.keys() == {0, 1, 2}
    assert exits[1] == signal.SIGKILL
    assert gone(list(pids.values()))


def test_stop_ends_what_a_rank_left_behind(start: Start, run_id: str) -> None:
    runtime = start({"0": "child"})
    collect(runtime, 1)
    assert [process.name for process in marked(run_id)].count("sleep") == 1
    runtime.stop(0.0)
    assert marked(run_id) == []


def test_a_lost_zygote_takes_its_ranks_along_and_is_reported(start: Start) -> None:
    runtime = start({"0": "wait", "1": "wait"})
    pids = await_starts(runtime, 2)
    assert runtime.signal(1, signal.SIGSTOP)
    os.kill(runtime.zygote_pid, signal.SIGKILL)
    news = collect(runtime, 2)
    news += runtime.poll(0.0)
    assert [type(item) for item in news] == [RankExit, RankExit, RuntimeLost]
    assert gone(list(pids.values()))


def test_a_workload_that_cannot_be_imported_is_a_lost_runtime(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    runtime = prepare(str(tmp_path), "test-broken", workload="no.such.workload")
    try:
        [lost] = runtime.poll(20.0)
        assert isinstance(lost, RuntimeLost)
        assert "logs/zygote.log" in lost.reason
        assert "No module named" in (tmp_path / "logs/zygote.log").read_text()
    finally:
        runtime.stop(0.0)


def test_ranks_die_with_a_killed_harness_even_while_stopped(
    tmp_path: Path, run_id: str
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "standin.json").write_text('{"0": "wait", "1": "deaf"}')
    script = (
        "import sys; from harness.runtime.process import prepare\n"
        f"r = prepare({str(tmp_path)!r}, {run_id!r}, workload={STANDIN!r})\n"
        "r.start(2); pids = []\n"
        "while len(pids) < 2: pids += [n.pid for n in r.poll(20)]\n"
        "r.signal(1, 19); print(r.zygote_pid, *pids, flush=True); sys.stdin.read()\n"
    )
    harness = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with harness:
        assert harness.stdout is not None
        pids = [int(word) for word in harness.stdout.readline().split()]
        assert len(pids) == 3
        harness.kill()
    assert gone(pids)
