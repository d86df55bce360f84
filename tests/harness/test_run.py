"""Real runs through every kind of end: done, cancelled, late, killed. Marker `jobs`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli import main
from harness.index import Index
from harness.launch import cancel, follow, is_live, launch
from harness.leftovers import PREFIX, SHARED, sweep
from harness.processes import marked, state_of
from harness.results import Outcome, Results
from harness.scenario import from_data
from harness.store import RunDirectory
from vocab.events import (
    Event,
    FaultHealed,
    FaultInjected,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    RunEnded,
    RunStarted,
    StepEnded,
)

pytestmark = pytest.mark.jobs

LONG: dict[str, Any] = {"steps": 400, "workload": {
    "parallel": {"replicate": 2}, "num_layers": 1, "step_pause_s": 0.05,
}}  # fmt: skip
SHORT: dict[str, Any] = {**LONG, "steps": 3}
FREEZE = {"kind": "hang.frozen", "rank": 1, "at_step": 2, "duration_s": 600}
Launch = Callable[..., RunDirectory]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Launch]:
    runs: list[RunDirectory] = []

    def start(base: dict[str, Any] = LONG, **fields: Any) -> RunDirectory:
        scout = {"replay_every": 1, "silence_s": 10, **fields.pop("scout", {})}
        data = {"title": "under test", "scout": scout, **base, **fields}
        run = launch(from_data(data), runs_root=tmp_path, name="test")
        runs.append(run)
        return run

    yield start
    for run in runs:
        cancel(run)
    for run in runs:
        wait(run)
    assert sweep(tmp_path, also_live=True) == []
    assert [path for path in SHARED.glob(f"{PREFIX}*") if "-test-" in path.name] == []


def wait(run: RunDirectory, *kinds: type[Event], within_s: float = 90.0) -> Event:
    """Follow a run to the first event of these kinds, or to its end."""
    deadline = time.monotonic() + within_s
    last: Event = PhaseChanged(phase="none")
    for batch in follow(run, poll_s=0.02):
        for stamped in batch.events:
            last = stamped.event
            if isinstance(last, kinds):
                return last
        assert time.monotonic() < deadline, f"still waiting; last was {last}"
    assert not kinds, f"the run ended before any {kinds}; last was {last}"
    return last


def events(run: RunDirectory, kind: type[Event]) -> list[Any]:
    found = (stamped.event for stamped in run.reader().read().events)
    return [event for event in found if isinstance(event, kind)]


def results(run: RunDirectory) -> Results:
    wait(run)
    found = run.results()
    assert found is not None, (run.logs / "harness.log").read_text()
    return found


def pid_of(run: RunDirectory, name: str) -> int:
    return next(e.pid for e in events(run, ProcessStarted) if e.name == name)


def harness_pid(run: RunDirectory) -> int:
    found = [p.pid for p in marked(run.run_id) if p.pid not in children(run)]
    [pid] = [pid for pid in found if "harness.run" in command_of(pid)]
    return pid


def children(run: RunDirectory) -> set[int]:
    return {event.pid for event in events(run, ProcessStarted)}


def assert_ended(pids: set[int], within_s: float = 5.0) -> None:
    """All are gone; a killed process on a busy machine still has to run once to die."""
    deadline = time.monotonic() + within_s
    while not {state_of(pid) for pid in pids} <= {"gone", "Z"}:  # Z: init has to look
        assert time.monotonic() < deadline, f"still there: {pids}"
        time.sleep(0.02)


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def test_a_run_goes_through_its_phases_to_results_and_index(
    start: Launch, tmp_path: Path
) -> None:
    run = start(SHORT)
    found = results(run)
    assert (found.outcome, found.reason) == (
        Outcome.PASS, "nobody was blamed, as expected",
    )  # fmt: skip
    assert found.steps_done == (3, 3)
    assert found.num_checks == 3
    phases = [event.phase for event in events(run, PhaseChanged)]
    assert phases == ["starting", "running", "healing", "checking", "ended"]
    [started] = events(run, RunStarted)
    assert (started.num_ranks, started.num_steps, started.seed) == (2, 3, 0)
    assert started.command == f"faultyard run {run.path / 'scenario.yaml'}"
    exits = [(e.name, e.exit_code) for e in events(run, ProcessExited)]
    assert sorted(exits) == [("rank0", 0), ("rank1", 0)]
    ended = run.ended()
    assert ended is not None
    assert ended.first_step_s is not None
    assert 0 < ended.first_step_s < ended.wall_s
    assert marked(run.run_id) == []
    [row] = Index.of(tmp_path).rows()
    assert (row.run_id, row.outcome) == (run.run_id, "pass")


def test_a_cancelled_run_heals_and_says_so(start: Launch) -> None:
    run = start(faults=[FREEZE])
    wait(run, FaultInjected)
    asked = time.monotonic()
    assert cancel(run)
    found = results(run)
    assert time.monotonic() - asked < 20
    assert (found.outcome, found.reason) == (Outcome.CANCELLED, "asked to end")
    assert len(events(run, FaultHealed)) == 1
    assert marked(run.run_id) == []
    assert not cancel(run)


def test_a_second_run_waits_for_the_first_and_can_be_cancelled_there(
    start: Launch,
) -> None:
    first = start()
    wait(first, StepEnded)
    second, third = start(SHORT), start(SHORT)
    waiting = wait(second, PhaseChanged)
    assert waiting == PhaseChanged(phase="queued", detail="1 ahead")
    assert cancel(second)
    found = results(second)
    assert (found.outcome, found.steps_done) == (Outcome.CANCELLED, (0, 0))
    assert is_live(first)
    assert events(third, StepEnded) == []
    cancel(first)
    assert results(third).outcome is Outcome.PASS
    ended = third.ended()
    assert ended is not None
    # Waiting in the queue is not part of the run's own time.
    assert ended.first_step_s is not None
    assert ended.first_step_s < 30


def test_a_run_that_takes_too_long_is_given_up(start: Launch) -> None:
    found = results(start(timeout_s=1.0))
    assert found.outcome is Outcome.INFRASTRUCTURE
    assert "timeout: not over after 1 s" in found.reason


def test_a_killed_rank_ends_the_run_in_bounded_time(start: Launch) -> None:
    run = start()
    wait(run, StepEnded)
    os.kill(pid_of(run, "rank1"), signal.SIGKILL)
    killed = time.monotonic()
    found = results(run)
    assert time.monotonic() - killed < 30
    assert found.outcome is Outcome.INFRASTRUCTURE
    assert "rank1 ended with signal 9" in found.reason
    assert marked(run.run_id) == []


def test_a_killed_zygote_is_an_infrastructure_error(start: Launch) -> None:
    run = start()
    wait(run, StepEnded)
    os.kill(pid_of(run, "zygote"), signal.SIGKILL)
    found = results(run)
    assert found.outcome is Outcome.INFRASTRUCTURE
    assert "zygote ended with -9" in found.reason
    assert marked(run.run_id) == []


@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_a_killed_harness_leaves_a_readable_run_and_nothing_else(
    start: Launch, tmp_path: Path, capsys: pytest.CaptureFixture[str], frozen: bool
) -> None:
    run = start(faults=[FREEZE] if frozen else [])
    wait(run, FaultInjected if frozen else StepEnded)
    pids = children(run)
    os.kill(harness_pid(run), signal.SIGKILL)
    wait(run)
    assert not is_live(run)
    assert run.results() is None
    assert main(["show", run.run_id, "--runs-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "killed while it ran" in shown
    assert "not judged" in shown
    assert main(["clean", "--runs-dir", str(tmp_path)]) == 0
    assert marked(run.run_id) == []
    assert_ended(pids)
    assert main(["clean", "--runs-dir", str(tmp_path)]) == 0
    assert "nothing to remove" in capsys.readouterr().out
    assert results(start(SHORT)).outcome is Outcome.PASS


def test_a_run_cleans_up_what_a_killed_one_left(start: Launch) -> None:
    run = start()
    wait(run, StepEnded)
    os.kill(harness_pid(run), signal.SIGKILL)
    assert results(start(SHORT)).outcome is Outcome.PASS
    assert marked(run.run_id) == []
    assert list(SHARED.glob(f"{PREFIX}{run.run_id}*")) == []


def test_a_terminated_harness_cancels_its_run(start: Launch) -> None:
    run = start()
    wait(run, StepEnded)
    os.kill(harness_pid(run), signal.SIGTERM)
    assert results(run).outcome is Outcome.CANCELLED


def test_the_outcome_is_told_before_the_results_are_stored(start: Launch) -> None:
    """Whoever sees results.json has every event of the run."""
    run = start(SHORT)
    while run.results() is None:
        time.sleep(0.005)
        assert is_live(run) or run.results() is not None
    assert len(events(run, RunEnded)) == 1
    assert events(run, PhaseChanged)[-1].phase == "ended"


# --- from the command line ----------------------------------------------------------


def scenario_file(folder: Path, **fields: Any) -> Path:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({"title": "under test", "seed": 3, **SHORT, **fields,
                                    "scout": {"replay_every": 1}}))  # fmt: skip
    return path


def test_the_command_ends_with_the_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(scenario_file(tmp_path)), "--runs-dir", str(tmp_path / "runs")]
    assert main([*words, "--seed", "9"]) == 0
    out = capsys.readouterr().out
    assert "step 3 of 3 done by every rank" in out
    assert "outcome  pass: nobody was blamed, as expected" in out
    assert "--set seed=9" in out


def test_json_is_all_that_a_program_gets_and_a_miss_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expect = [{"kind": "sdc", "ranks": [1], "from_step": 1, "by_step": 3}]
    path = scenario_file(tmp_path, expect=expect)
    root = tmp_path / "runs"
    assert main(["run", str(path), "--json", "--runs-dir", str(root)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == 1
    assert answer["results"]["outcome"] == "fail"
    assert "sdc rank1 (attributed) was not found" in answer["results"]["reason"]


def test_control_c_cancels_the_run_and_says_so(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, steps=100)
    command = [sys.executable, "-m", "harness", "run", str(path),
               "--runs-dir", str(tmp_path / "runs")]  # fmt: skip
    # A shell's background job ignores SIGINT, and so would all that it starts.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if "done by every rank" in line:  # of whichever step is seen first
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()
    assert process.returncode == 2
    assert "cancelling" in rest
    assert "outcome  cancelled: asked to end" in rest
