"""Kill a process of a real run at a random moment, and see that nothing is lost.

    plan_kills (pure) ─► Kill ─► strike: launch, wait, SIGKILL, look ─► Struck

After each kill the run must be readable, the index must hold it, `sweep` must leave
nothing of it, and where the victim is no part of the training job its finding must be
the same as ever. Called by the `kills` command; it signals only what it has started.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.closing import close_killed
from harness.index import Index
from harness.launch import is_live, launch
from harness.leftovers import PREFIX, SHARED, sweep
from harness.processes import marked
from harness.results import Outcome
from harness.scenario import Scenario
from harness.store import RunDirectory
from harness.views.run import build
from harness.views.source import RunLog

TARGETS = ("harness", "zygote", "rank", "observer", "server", "index")
_BYSTANDERS = ("observer", "server", "index")
"""Whose death may not change what a run finds."""

MAX_DELAY_S = 2.5
"""A run of the scenario takes about four seconds once its process is warm."""

END_S = 60.0
_MAX_TRIES = 6
_POLL_S = 0.02
_COMMAND = "from harness.cli import main; raise SystemExit(main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One planned kill."""

    number: int
    target: str
    delay_s: float  # after the target was first seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """What one kill did; `problems` is empty where all was well."""

    number: int
    target: str
    run_id: str
    is_hit: bool  # False: the target had ended before
    outcome: Outcome | None
    problems: tuple[str, ...]
    wall_s: float


def plan_kills(num: int, seed: int) -> tuple[Kill, ...]:
    """The same kills for the same seed; each target gets its turn."""
    rng = random.Random(seed)
    kills = []
    for number in range(num):
        if number % len(TARGETS) == 0:
            order = rng.sample(TARGETS, len(TARGETS))
        kills.append(
            Kill(
                number=number,
                target=order[number % len(TARGETS)],
                delay_s=round(rng.uniform(0.0, MAX_DELAY_S), 3),
            )
        )
    return tuple(kills)


def strike(kill: Kill, scenario: Scenario, root: Path, name: str) -> Struck:
    """Launch a run, kill, and look at what is left.

    A target that had ended before its moment is tried again, in another run and twice
    as early, so that a fast machine sees as many kills as a slow one.
    """
    for _ in range(_MAX_TRIES):
        struck = _strike(kill, scenario, root, name)
        if struck.is_hit or struck.problems:
            break
        kill = replace(kill, delay_s=kill.delay_s / 2)
    return struck


def _strike(kill: Kill, scenario: Scenario, root: Path, name: str) -> Struck:
    began_s = time.monotonic()
    run = launch(scenario, runs_root=root, name=name)
    helper = _start_helper(kill.target, root)
    try:
        is_hit = _kill(kill, run, helper)
        problems = list(_wait_for_end(run))
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()
    problems += _after(kill, run, root)
    results = run.results()
    return Struck(
        number=kill.number, target=kill.target, run_id=run.run_id, is_hit=is_hit,
        outcome=results.outcome if results else None, problems=tuple(problems),
        wall_s=round(time.monotonic() - began_s, 3),
    )  # fmt: skip


def _start_helper(target: str, root: Path) -> subprocess.Popen[bytes] | None:
    """The process to be killed, where it is not one of the run's own."""
    arguments = {
        "server": ["serve", "--port", str(_free_port())],
        "index": ["reindex"],
    }.get(target)
    if arguments is None:
        return None
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments, "--runs-dir", str(root)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _kill(
    kill: Kill, run: RunDirectory, helper: subprocess.Popen[bytes] | None
) -> bool:
    """Wait for the target and the delay, then SIGKILL it; False: it was gone."""
    if helper is not None:
        # An index is rebuilt within a second; a server is there until it is killed.
        time.sleep(kill.delay_s / (4 if kill.target == "index" else 1))
        is_there = helper.poll() is None
        helper.kill()
        return is_there
    find = _finder(kill.target, run.run_id)
    while not find() and is_live(run):
        time.sleep(_POLL_S)
    time.sleep(kill.delay_s)
    for pid in find():
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            continue
    return False


def _finder(target: str, run_id: str) -> Callable[[], list[int]]:
    def find() -> list[int]:
        return [p.pid for p in marked(run_id) if _is(target, p.pid, p.name)]

    return find


def _is(target: str, pid: int, name: str) -> bool:
    if target == "rank":
        return name.startswith("rank")
    if target == "zygote":
        return name == "zygote"
    module = {"harness": b"harness.run\0", "observer": b"scout.observer_main"}[target]
    try:
        return module in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _wait_for_end(run: RunDirectory) -> Iterator[str]:
    deadline = time.monotonic() + END_S
    while is_live(run):
        if time.monotonic() > deadline:
            yield f"the run did not end within {END_S:g} s"
            return
        time.sleep(_POLL_S)


def _after(kill: Kill, run: RunDirectory, root: Path) -> Iterator[str]:
    """What is wrong with the run, the index or the machine."""
    view = build(RunLog(run).read())
    if not view.outcome_text:
        yield "the run has no readable outcome"
    results = run.results()
    if results is None and kill.target != "harness":
        yield "the run wrote no results"
    if kill.target in _BYSTANDERS and results is not None:
        # Without its observer from the start on, a run says that it cannot be sure.
        allowed = (Outcome.PASS, Outcome.INCONCLUSIVE)
        if results.outcome not in allowed[: 2 if kill.target == "observer" else 1]:
            yield f"the run ended as {results.outcome.value}: {results.reason}"
        if results.extras:
            yield "somebody was blamed whom nobody expected"
    sweep(root)
    close_killed(root)
    if run.results() is None:
        yield "the run cannot be closed"
    for process in marked(run.run_id):
        yield f"process {process.pid} ({process.name}) is left"
    for path in SHARED.glob(f"{PREFIX}{run.run_id}*"):
        yield f"shared file {path} is left"
    index = Index.of(root)
    index.sync()
    if run.run_id not in {row.run_id for row in index.rows(limit=10)}:
        yield "the index does not hold the run"
    if kill.target == "index" and index.rebuild() < 1:
        yield "the index cannot be rebuilt"
