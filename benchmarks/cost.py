"""What SCOUT costs a training job: between checks, at a check, amortised (SCOUT 6.1.1).

Run by `registry`. Two gloo ranks train the same deep model three times in turns: plain,
plain again (A/A: what is only noise here) and with `enable_resiliency` at its defaults,
a check every I = 20 steps, V = 3 value variants of one of N layers. Observers are on.
A second job of the same model is watched by lm-resiliency, where it is installed.

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

from benchmarks import watchers
from benchmarks.claim import Claim, compared
from benchmarks.watchers import Attach

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a watched job costs, in seconds of a step and as ratios."""

    plain_s: float  # a step without any diagnosis
    a_a: float  # ratio of that to itself
    spread: tuple[float, float]  # between which half of the A/A ratios lie
    between: float  # ratio of a watched step that is no check
    check_s: float  # what a check adds
    num_quiet: int
    num_checks: int


def claims(size: Size | None = None) -> Iterator[Claim]:
    """The claims of issue 4 on cost."""
    size = size or Size()
    found = _measure(size, watchers.scout)
    summary = _summary(found)
    yield from _of_time(found, summary, size)
    yield compared(
        name="bytes that one rank hands to collectives in a check",
        value=float(statistics.median(found.check_bytes)), unit="B", baseline=None,
        note="gathers of evidence and the broadcast of the replayed input",
    )  # fmt: skip
    grown = _grown(found)
    yield compared(
        name="resident memory that the watched model, its optimizer and SCOUT add",
        value=float(grown), unit="B", baseline=float(found.resident_before_bytes),
        note="baseline: the process with two unwatched copies of the model",
    )  # fmt: skip
    yield from _beside_the_peer(size, summary, grown)


def _of_time(found: Measured, summary: Summary, size: Size) -> Iterator[Claim]:
    plain = summary.plain_s
    step = f"of a {plain * 1e3:.0f} ms step on {NUM_RANKS} ranks"
    yield compared(
        name=f"training time between checks, {step}",
        value=plain * summary.between, unit="s", baseline=plain,
        note=f"baseline: without SCOUT; median of {summary.num_quiet} paired steps; "
        f"{_noise(summary)}",
        at_most=GOAL_BETWEEN,
    )  # fmt: skip
    yield compared(
        name=f"training time without SCOUT against itself (A/A), {step}",
        value=plain * summary.a_a, unit="s", baseline=plain,
        note="baseline: the same; what differs from 1 is noise of this machine",
    )  # fmt: skip
    yield compared(
        name=f"amortised share of checks: V = {found.num_variants}, I = {found.every}, "
        f"N = {size.num_layers}",
        value=summary.check_s / (found.every * plain), unit="of training time",
        baseline=found.num_variants / (found.every * size.num_layers),
        note=f"baseline: V / (I N); a check adds {summary.check_s * 1e3:.0f} ms, "
        f"median of {summary.num_checks}",
        at_most=GOAL_OF_FORMULA,
    )  # fmt: skip


def _beside_the_peer(size: Size, ours: Summary, grown: int) -> Iterator[Claim]:
    """The same model under lm-resiliency; a job of its own, for it patches torch."""
    missing = watchers.peer_missing()
    theirs, found = None, None
    if missing is None:
        try:
            found = _measure(size, watchers.peer)
            theirs = _summary(found)
        except RuntimeError as error:
            missing = f"not measured: {error}"
    yield compared(
        name="time that a check adds to a step, against lm-resiliency",
        value=ours.check_s / ours.plain_s, unit="steps",
        baseline=_above_0(theirs.check_s / theirs.plain_s if theirs else None),
        note=missing or f"baseline: {watchers.PEER} at its defaults on gloo, V and I "
        "alike",
    )  # fmt: skip
    yield compared(
        name="ratio of a step between checks, against lm-resiliency",
        value=ours.between, unit="of a plain step",
        baseline=theirs.between if theirs else None,
        note=missing or f"baseline: {watchers.PEER}; {_noise(ours)}; its job's "
        f"{_noise(theirs)}",
    )  # fmt: skip
    theirs_grown = _grown(found) if found else None
    yield compared(
        name="resident memory that the watched model adds, against lm-resiliency",
        value=float(grown), unit="B", baseline=_above_0(theirs_grown),
        note=missing or f"baseline: {watchers.PEER}; of the training process alone, "
        "ours with numba, both without their observers",
    )  # fmt: skip


def _grown(found: Measured) -> int:
    return found.resident_after_bytes - found.resident_before_bytes


def _above_0(value: float | None) -> float | None:
    """A baseline that noise made 0 or less compares with nothing."""
    return None if value is None or value <= 0 else float(value)


def _noise(summary: Summary | None) -> str:
    if summary is None:
        return "A/A not measured"
    low, high = summary.spread
    return f"A/A ratio {summary.a_a:.4f}, of which half lie in {low:.4f} to {high:.4f}"


def _summary(found: Measured) -> Summary:
    quiet = [i for i, check in enumerate(found.is_check) if not check]
    checks = [i for i, check in enumerate(found.is_check) if check]
    again = [found.again_s[i] / found.plain_s[i] for i in quiet]
    return Summary(
        plain_s=statistics.median(found.plain_s),
        a_a=statistics.median(again),
        spread=_interval(again),
        between=statistics.median(found.watched_s[i] / found.plain_s[i] for i in quiet),
        check_s=statistics.median(
            found.watched_s[i] - found.plain_s[i] for i in checks
        ),
        num_quiet=len(quiet),
        num_checks=len(checks),
    )


def _interval(ratios: list[float]) -> tuple[float, float]:
    if len(ratios) < 4:
        return min(ratios), max(ratios)
    low, _, high = statistics.quantiles(ratios, n=4)
    return low, high


def _measure(size: Size, attach: Attach) -> Measured:
    context = get_context("fork")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch.distributed  # noqa: F401 - once here instead of in every rank

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = context.Pipe(duplex=False)
        ranks = [
            context.Process(target=_rank, args=(rank, folder, size, theirs, attach))
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


def _rank(rank: int, folder: str, size: Size, pipe: Connection, attach: Attach) -> None:
    import torch
    import torch.distributed as dist

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
    diagnosis = attach(model, optimizer)
    found.num_variants, found.every = diagnosis.num_variants, diagnosis.every
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
    if (trouble := diagnosis.trouble()) is not None:
        raise RuntimeError(f"cost: the diagnosis did not work: {trouble}")
    diagnosis.close()
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
