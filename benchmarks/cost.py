"""What SCOUT costs a training job: between checks, at a check, amortised (SCOUT 6.1.1).

Run by `registry`. Two gloo ranks train the same deep model three times in turns: plain,
plain again (A/A: what is only noise here) and with `enable_resiliency` at its defaults,
a check every I = 20 steps, V = 3 value variants of one of N layers. Observers are on.

    V variants replay one of N layers each I steps  =>  V / (I N) of the training time

FACTS: such ratios need steps of 100 ms and 40 paired blocks on two cores.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.claim import Claim, compared

NUM_RANKS = 2
GOAL_BETWEEN = 1.01
GOAL_OF_FORMULA = 2.0
DEADLINE_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured; the default is deep, with steps of over 100 ms."""

    num_layers: int = 24
    width: int = 160
    seq_len: int = 48
    batch: int = 4
    steps: int = 100  # of each of the three; five checks


@dataclass(slots=True, kw_only=True)
class Measured:
    """Of rank 0: seconds by step, and what the checks took and sent."""

    plain_s: list[float] = field(default_factory=list)
    again_s: list[float] = field(default_factory=list)
    watched_s: list[float] = field(default_factory=list)
    is_check: list[bool] = field(default_factory=list)
    check_bytes: list[int] = field(default_factory=list)
    resident_before_bytes: int = 0
    resident_after_bytes: int = 0
    num_variants: int = 0
    every: int = 0


def claims(size: Size | None = None) -> Iterator[Claim]:
    """The claims of issue 4 on cost."""
    size = size or Size()
    found = _measure(size)
    plain = statistics.median(found.plain_s)
    quiet = [i for i, check in enumerate(found.is_check) if not check]
    a_a = statistics.median(found.again_s[i] / found.plain_s[i] for i in quiet)
    between = statistics.median(found.watched_s[i] / found.plain_s[i] for i in quiet)
    step = f"of a {plain * 1e3:.0f} ms step on {NUM_RANKS} ranks"
    spread = _interval([found.again_s[i] / found.plain_s[i] for i in quiet])
    yield compared(
        name=f"training time between checks, {step}",
        value=plain * between, unit="s", baseline=plain,
        note=f"baseline: without SCOUT; median of {len(quiet)} paired steps; A/A ratio "
        f"{a_a:.4f}, of which half lie in {spread[0]:.4f} to {spread[1]:.4f}",
        at_most=GOAL_BETWEEN,
    )  # fmt: skip
    yield compared(
        name=f"training time without SCOUT against itself (A/A), {step}",
        value=plain * a_a, unit="s", baseline=plain,
        note="baseline: the same; what differs from 1 is noise of this machine",
    )  # fmt: skip
    checks = [i for i, check in enumerate(found.is_check) if check]
    extra = statistics.median(found.watched_s[i] - found.plain_s[i] for i in checks)
    share = extra / (found.every * plain)
    formula = found.num_variants / (found.every * size.num_layers)
    yield compared(
        name=f"amortised share of checks: V = {found.num_variants}, I = {found.every}, "
        f"N = {size.num_layers}",
        value=share, unit="of training time", baseline=formula,
        note=f"baseline: V / (I N); a check adds {extra * 1e3:.0f} ms, median of "
        f"{len(checks)}",
        at_most=GOAL_OF_FORMULA,
    )  # fmt: skip
    yield compared(
        name="bytes that one rank hands to collectives in a check",
        value=float(statistics.median(found.check_bytes)), unit="B", baseline=None,
        note="gathers of evidence and the broadcast of the replayed input",
    )  # fmt: skip
    grown = found.resident_after_bytes - found.resident_before_bytes
    yield compared(
        name="resident memory that the watched model, its optimizer and SCOUT add",
        value=float(grown), unit="B", baseline=float(found.resident_before_bytes),
        note="baseline: the process with two unwatched copies of the model",
    )  # fmt: skip


def _interval(ratios: list[float]) -> tuple[float, float]:
    if len(ratios) < 4:
        return min(ratios), max(ratios)
    low, _, high = statistics.quantiles(ratios, n=4)
    return low, high


def _measure(size: Size) -> Measured:
    context = get_context("fork")
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
                raise RuntimeError(f"cost: no result after {DEADLINE_S:g} s")
            result = ours.recv()
        except EOFError:
            raise RuntimeError("cost: a rank died; see its output") from None
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

    from scout import ScoutConfig
    from scout.enable import enable_resiliency

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=NUM_RANKS
    )
    found = Measured()
    plain, _, _ = _make_step(size)
    again, _, _ = _make_step(size)
    for step in (plain, again):
        step()
        step()
    found.resident_before_bytes = _resident_bytes()
    watched, model, optimizer = _make_step(size)
    config = ScoutConfig()
    found.num_variants, found.every = len(config.variants), config.replay_every
    handle = enable_resiliency(model, optimizer, config)
    for _ in range(found.every):  # the first check makes what later ones use again
        watched()
    with _counted() as sent:
        for number in range(1, size.steps + 1):
            turns = [(found.plain_s, plain), (found.again_s, again),
                     (found.watched_s, watched)]  # fmt: skip
            first = number % len(turns)
            for seconds, step in turns[first:] + turns[:first]:
                before = sent[0]
                seconds.append(_timed(step))
                if step is watched:
                    found.is_check.append(number % found.every == 0)
                    if found.is_check[-1]:
                        found.check_bytes.append(sent[0] - before)
    found.resident_after_bytes = _resident_bytes()
    if handle.disabled is not None:
        raise RuntimeError(f"cost: SCOUT switched itself off: {handle.disabled}")
    handle.close()
    dist.barrier()
    if rank == 0:
        pipe.send(found)
    dist.destroy_process_group()


def _make_step(size: Size) -> tuple[Callable[[], None], Any, Any]:
    import torch
    from torch.nn import functional as F
    from torch.nn.parallel import DistributedDataParallel

    from harness.scenario import Workload
    from harness.workloads.transformer import Transformer

    workload = Workload(
        num_layers=size.num_layers, d_model=size.width, seq_len=size.seq_len,
        batch=size.batch,
    )  # fmt: skip
    torch.manual_seed(3)
    model = DistributedDataParallel(Transformer(workload))
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(workload.vocab_size, (size.batch, size.seq_len + 1))

    def step() -> None:
        optimizer.zero_grad()
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        torch.autograd.backward(loss)
        optimizer.step()

    return step, model, optimizer


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count the bytes that SCOUT's exchange hands to collectives, by their tensors."""
    import torch.distributed as dist

    total = [0]
    gather, broadcast = dist.all_gather, dist.broadcast

    def counted_gather(found: Any, mine: Any, *args: Any, **kwargs: Any) -> Any:
        total[0] += mine.numel() * mine.element_size()
        return gather(found, mine, *args, **kwargs)

    def counted_broadcast(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        total[0] += tensor.numel() * tensor.element_size()
        return broadcast(tensor, *args, **kwargs)

    with (
        patch.object(dist, "all_gather", counted_gather),
        patch.object(dist, "broadcast", counted_broadcast),
    ):
        yield total


def _timed(step: Callable[[], None]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
