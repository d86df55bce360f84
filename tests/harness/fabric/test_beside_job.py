"""The fabric process beside ranks that train nothing: it delays and stalls them."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.fabric.endpoint import Endpoint
from harness.fabric.process import FabricProcess
from harness.store import RunDirectory
from tests import run_builder as rb
from tests.harness.fabric.small import JOB_BYTES, scenario
from vocab.fabric_events import ExchangeEnded, FabricEnded

RANKS = 4
BLACKHOLE = {"kind": "link.blackhole", "link": "leaf2-spine0:up", "at_step": 1}


class Job:
    """Four ranks that exchange gradients in lockstep."""

    def __init__(self, run: RunDirectory) -> None:
        self.ends = [Endpoint.connect(run.control, rank) for rank in range(RANKS)]
        self.pool = ThreadPoolExecutor(RANKS)

    def step(self, number: int) -> float:
        """One step; returns how long the ranks waited for the fabric, seconds."""
        for end in self.ends:
            end.begin(number, JOB_BYTES)
        began = time.monotonic()
        list(self.pool.map(lambda end: end.finish(number), self.ends))
        return time.monotonic() - began

    def close(self) -> None:
        for end in self.ends:
            end.close()
        self.pool.shutdown()


@contextmanager
def job(
    root: Path, name: str, *faults: dict[str, Any]
) -> Iterator[tuple[RunDirectory, FabricProcess, Job]]:
    made = scenario(*faults, steps=12, dilation=300)
    run = rb.RunBuilder(root, made, f"20261201-120000-{name}-0001").close()
    run.logs.mkdir(exist_ok=True)
    process = FabricProcess.start(run.path)
    ranks = Job(run)
    try:
        yield run, process, ranks
    finally:
        ranks.close()
        deadline = time.monotonic() + 10
        while not endings(run) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.stop(10)
        assert endings(run) == ["every rank has left"]


def endings(run: RunDirectory) -> list[str]:
    events = run.reader().read(sources="fabric").events
    return [e.event.why for e in events if isinstance(e.event, FabricEnded)]


def delays_s(run: RunDirectory) -> list[float]:
    events = run.reader().read(sources="fabric").events
    return [e.event.delayed_s for e in events if isinstance(e.event, ExchangeEnded)]


def test_a_faulty_link_makes_steps_longer_by_what_it_costs(tmp_path: Path) -> None:
    waited: dict[str, list[float]] = {}
    told: dict[str, list[float]] = {}
    for name, faults in (("clean", ()), ("gray", (BLACKHOLE,))):
        with job(tmp_path, name, *faults) as (run, _, ranks):
            waited[name] = [ranks.step(number) for number in range(1, 7)]
        told[name] = delays_s(run)
    assert told["clean"] == [0.0] * 6
    assert min(told["gray"]) > 0.02
    # Never less than told; what the two fabrics themselves take differs by little.
    for seen, delay in zip(waited["gray"], told["gray"], strict=True):
        assert seen >= delay
    extra = statistics.median(waited["gray"]) - statistics.median(waited["clean"])
    assert extra > 0.5 * statistics.median(told["gray"])


def test_a_stopped_fabric_stalls_every_rank_until_it_goes_on(tmp_path: Path) -> None:
    with job(tmp_path, "stopped") as (_, process, ranks):
        ranks.step(1)
        os.kill(process.pid, signal.SIGSTOP)
        done = threading.Event()
        thread = threading.Thread(target=lambda: (ranks.step(2), done.set()))
        thread.start()
        assert not done.wait(0.5)
        os.kill(process.pid, signal.SIGCONT)
        assert done.wait(10)
        thread.join()


def test_a_fabric_that_dies_is_an_error_and_no_silence(tmp_path: Path) -> None:
    made = scenario(steps=12)
    run = rb.RunBuilder(tmp_path, made, "20261201-120000-dead-0001").close()
    run.logs.mkdir(exist_ok=True)
    process = FabricProcess.start(run.path)
    ranks = Job(run)
    ranks.step(1)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(OSError, match=r"fabric is gone|Broken pipe|reset"):
        ranks.step(2)
    assert process.stop(1) == -signal.SIGKILL
    assert process.problem == "the fabric ended with -9; see logs/fabric.log"
    ranks.close()
