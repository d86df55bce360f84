"""What recording every collective costs (issue 3; SCOUT sec. 7 "lightweight").

Run by `registry`. Two gloo ranks train the same DDP model in turns on three groups of
one job: plain, plain again (A/A: what is only noise here) and recorded. FACTS: such
ratios need steps of 100 ms and 40 paired blocks on two cores.

    2 ranks -> groups plain, again, recorded -> blocks in turns -> medians of ratios
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.claim import Claim, compared
from benchmarks.interleaved import median_seconds

NUM_RANKS = 2
GOAL_RATIO = 1.02
DEADLINE_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured; the default is what FACTS asks for."""

    width: int = 512
    num_layers: int = 6
    batch: int = 512
    blocks: int = 40
    calls: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds: of a step by block and group, and of one launch by group."""

    steps: Mapping[str, list[float]]
    launches: Mapping[str, float]
    num_collectives: float  # of one training step


def claims(size: Size | None = None) -> Iterator[Claim]:
    """The claims of issue 3 on the recording backend."""
    measured = _measure(size or Size())
    plain = statistics.median(measured.steps["plain"])
    step = f"of a {plain * 1e3:.0f} ms DDP step on {NUM_RANKS} ranks"
    a_a = _ratio(measured, "again")
    yield compared(
        name=f"training time with every collective recorded, {step}",
        value=plain * _ratio(measured, "recorded"),
        unit="s",
        baseline=plain,
        note=f"baseline: gloo; median of {len(measured.steps['plain'])} paired blocks, "
        f"{measured.num_collectives:g} collectives a step; A/A ratio {a_a:.4f}",
        at_most=GOAL_RATIO,
    )
    yield compared(
        name=f"training time of gloo against itself (A/A), {step}",
        value=plain * a_a,
        unit="s",
        baseline=plain,
        note="baseline: gloo; what differs from 1 is noise of this machine",
    )
    extra_us = (measured.launches["recorded"] - measured.launches["plain"]) * 1e6
    yield compared(
        name="recording one collective: describe, publish, leave, delegate",
        value=extra_us,
        unit="us",
        baseline=measured.launches["plain"] * 1e6,
        note="baseline: a barrier of one rank by gloo; value: what recording adds",
    )


def _ratio(measured: Measured, name: str) -> float:
    """Median over blocks of a group's time against the plain one's beside it."""
    pairs = zip(measured.steps[name], measured.steps["plain"], strict=True)
    return statistics.median(theirs / plain for theirs, plain in pairs)


def _measure(size: Size) -> Measured:
    context = multiprocessing.get_context("fork")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch.distributed  # noqa: F401 - once here instead of in every rank

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = context.Pipe(duplex=False)
        ranks = [
            context.Process(target=_rank, args=(rank, folder, size, theirs))
            for rank in range(NUM_RANKS)
        ]
        for process in ranks:
            process.start()
        theirs.close()
        try:
            if not ours.poll(DEADLINE_S):
                raise RuntimeError(f"overhead: no result after {DEADLINE_S:g} s")
            result = ours.recv()
        except EOFError:
            raise RuntimeError("overhead: a rank died; see its output") from None
        finally:
            for process in ranks:
                process.join(timeout=10)
                if process.is_alive():
                    process.kill()
                    process.join()
    assert isinstance(result, Measured)
    return result


def _rank(rank: int, folder: str, size: Size, pipe: Connection) -> None:
    import torch
    import torch.distributed as dist

    from scout.progress import ProgressRing
    from scout.recording.backend import BACKEND, register

    torch.set_num_threads(1)
    tape = register()
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=NUM_RANKS
    )
    groups = {
        "plain": dist.new_group(backend="gloo"),
        "again": dist.new_group(backend="gloo"),
        "recorded": dist.new_group(backend=BACKEND),
    }
    ring = ProgressRing.create(Path(folder) / f"ring{rank}", rank=rank)
    tape.attach(ring)
    tape.move(1, "backward")
    steps = {name: _make_step(group, size) for name, group in groups.items()}
    for step in steps.values():
        step()  # DDP makes its buckets anew after the first
        step()
    per_step = _count(ring, steps["recorded"])
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for block in range(size.blocks):
        for name in names[block % 3 :] + names[: block % 3]:
            seconds[name].append(_timed(steps[name]))
    launches = _launches(rank, size, dist)
    tape.detach()
    ring.close()
    dist.barrier()
    if rank == 0:
        pipe.send(Measured(steps=seconds, launches=launches, num_collectives=per_step))
    dist.destroy_process_group()


def _make_step(group: Any, size: Size) -> Callable[[], None]:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(3)
    layers: list[torch.nn.Module] = []
    for _ in range(size.num_layers):
        layers += [torch.nn.Linear(size.width, size.width), torch.nn.ReLU()]
    model = DistributedDataParallel(
        torch.nn.Sequential(*layers), process_group=group, bucket_cap_mb=1
    )
    batch = torch.randn(size.batch, size.width)

    def step() -> None:
        model.zero_grad()
        model(batch).square().mean().backward()

    return step


def _timed(step: Callable[[], None]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def _count(ring: Any, step: Callable[[], None]) -> int:
    from scout.ring_reader import RingReader

    reader = RingReader.open(ring.path)
    before = reader.snapshot(1, now_ns=0).head
    step()
    after = reader.snapshot(1, now_ns=0).head
    reader.close()
    return after - before


def _launches(rank: int, size: Size, dist: Any) -> dict[str, float]:
    """Seconds of a collective of one rank alone: nothing is waited for."""
    from scout.recording.backend import BACKEND

    alone = {
        name: [dist.new_group([r], backend=backend) for r in range(NUM_RANKS)][rank]
        for name, backend in (("plain", "gloo"), ("recorded", BACKEND))
    }

    def call(group: Any) -> Callable[[], object]:
        return lambda: dist.barrier(group=group)

    functions = {name: call(group) for name, group in alone.items()}
    return median_seconds(functions, rounds=max(1, size.calls // 50), calls=50)
