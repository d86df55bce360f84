"""Real ranks that fall out of step: the observers name who did it, from outside.

On gloo the culprit is rarely the one that hangs or dies (FACTS), so these jobs may
stall, abort a healthy rank, or go on; the verdict is the same.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from scout.config import ScoutConfig
from scout.observer_process import ObserverHandle
from scout.progress import ProgressRing
from scout.recording.backend import recording_tape, register
from vocab.errors import DecodeError
from vocab.events import ObserverReady, VerdictIssued, decode
from vocab.verdict import State, Verdict

pytestmark = pytest.mark.jobs

SIZE = 4
CULPRIT = 2
STEP = 4
CONFIG = ScoutConfig(silence_s=1.0, heartbeat_s=0.2)

Call = Callable[[torch.Tensor], object]


def usual(x: torch.Tensor) -> None:
    dist.all_reduce(x)


def broadcast(x: torch.Tensor) -> None:
    dist.broadcast(x, 0)


def larger(x: torch.Tensor) -> None:
    dist.all_reduce(torch.cat([x] * 50))


def doubles(x: torch.Tensor) -> None:
    dist.all_reduce(x.double())


def skip(x: torch.Tensor) -> None:
    """Leave the call out."""


def rank_main(rank: int, folder: Path, wrong: Call) -> None:
    """Steps of a scalar and a vector all-reduce; the culprit's vector goes wrong."""
    faulthandler.disable()  # a victim's abort is part of the test
    torch.set_num_threads(1)
    register()
    dist.init_process_group(
        "scout",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=SIZE,
        timeout=timedelta(seconds=60),
    )
    ring = ProgressRing.create(folder / f"ring{rank}", rank=rank)
    handle = ObserverHandle.start(
        rank=rank,
        group_ranks=range(SIZE),
        ring_path=ring.path,
        config=CONFIG,
        journal_dir=folder / "events",
        env_tags={},
        linger_s=5.0,
    )
    addresses: list[str] = [""] * SIZE
    dist.all_gather_object(addresses, handle.address)
    assert handle.connect(dict(enumerate(addresses))) is None
    dist.barrier()
    tape = recording_tape()
    assert tape is not None
    tape.attach(ring)
    for step in range(1, 50):
        ring.enter(step, "forward", "layer")
        tape.move(step, "forward")
        is_wrong = rank == CULPRIT and step == STEP
        dist.all_reduce(torch.ones(1))
        (wrong if is_wrong else usual)(torch.ones(1000))
        time.sleep(0.1)


@contextlib.contextmanager
def job(folder: Path, wrong: Call) -> Iterator[None]:
    context = multiprocessing.get_context("fork")
    ranks = [
        context.Process(target=rank_main, args=(rank, folder, wrong))
        for rank in range(SIZE)
    ]
    for process in ranks:
        process.start()
    try:
        yield
    finally:
        for process in ranks:
            process.kill()
            process.join()
        for event in events(folder):
            if isinstance(event, ObserverReady):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(event.pid, signal.SIGKILL)


def events(folder: Path) -> list[object]:
    found: list[object] = []
    for path in sorted((folder / "events").glob("observer*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            with contextlib.suppress(ValueError, DecodeError):  # a torn last line
                found.append(decode(json.loads(line)).event)
    return found


def verdicts(folder: Path) -> list[Verdict]:
    return [e.verdict for e in events(folder) if isinstance(e, VerdictIssued)]


def first_verdict(folder: Path) -> Verdict:
    deadline = time.monotonic() + 40
    while not verdicts(folder):
        assert time.monotonic() < deadline, events(folder)[-4:]
        time.sleep(0.05)
    return verdicts(folder)[0]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [(broadcast, "op"), (larger, "shape"), (doubles, "dtype")],
)
def test_a_mismatched_collective_is_named_with_its_field(
    tmp_path: Path, wrong: Call, field: str
) -> None:
    with job(tmp_path, wrong):
        verdict = first_verdict(tmp_path)
    assert verdict.state is State.ATTRIBUTED
    assert verdict.blamed == ("rank2",)
    assert verdict.reason_code == "collective_mismatch"
    assert verdict.surface is not None
    assert field in verdict.surface
    assert verdict.step == STEP
    assert "rank2" not in verdict.victims


def test_a_skipped_collective_is_named_whoever_dies_of_it(tmp_path: Path) -> None:
    with job(tmp_path, skip):
        verdict = first_verdict(tmp_path)
    assert verdict.state is State.ATTRIBUTED
    assert verdict.blamed == ("rank2",)
    assert verdict.reason_code == "skipped_collective"
