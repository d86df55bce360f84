"""The training loop itself, with the phases that real jobs have.

    fetch -> forward -> backward -> update -> loss over all ranks -> go on?
                        └ its gradients cross the network, where there is one
        every `eval_every` steps: validation batches, without gradients
        every `checkpoint_every` steps: rank 0 (or every rank) saves, peers wait

Called by `train` in each rank. It knows nothing of faults; of SCOUT it knows what a
user would: it shows its batches and names its phases, by public calls of the handle.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn import functional as F

from harness.fabric.endpoint import Network
from harness.scenario import Scenario
from harness.workloads.tokens import VALIDATION, Batch, Tokens, loader
from scout.handle import Handle
from vocab.events import StepEnded
from vocab.journal import EventWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one rank trains with."""

    scenario: Scenario
    rank: int
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    tokens: Tokens
    events: EventWriter
    checkpoints: Path
    handle: Handle | None  # None: SCOUT is off
    network: Network

    def phase(self, name: str) -> AbstractContextManager[None]:
        """The boundary of an evaluation or a checkpoint, where SCOUT is on."""
        return nullcontext() if self.handle is None else self.handle.phase(name)


def train(job: Job) -> None:
    """All steps of the scenario."""
    workload = job.scenario.workload
    batches = _batches(job)
    job_bytes = gradient_bytes(job.model)
    for step in range(1, job.scenario.steps + 1):
        began = time.perf_counter()
        loss = _loss(job.model, next(batches))
        job.network.begin(step, job_bytes)
        loss.backward()  # type: ignore[no-untyped-call]
        job.network.finish(step)
        job.optimizer.step()
        job.optimizer.zero_grad()
        mean_loss = _mean_over_ranks(loss) if workload.log_loss else None
        if workload.stop_signal and _is_told_to_stop():
            return
        took = time.perf_counter() - began
        job.events.write(
            StepEnded(
                step=step,
                duration_s=took,
                loss=_finite(loss.item()),
                mean_loss=mean_loss,
            )
        )
        if workload.eval_every and step % workload.eval_every == 0:
            _evaluate(job)
        if workload.checkpoint_every and step % workload.checkpoint_every == 0:
            _checkpoint(job, step)
        if workload.step_pause_s:
            time.sleep(workload.step_pause_s)


def gradient_bytes(model: torch.nn.Module) -> int:
    """What a rank's reducer sends around in a step: every gradient once."""
    return sum(
        weight.numel() * weight.element_size()
        for weight in model.parameters()
        if weight.requires_grad
    )


def _batches(job: Job) -> Iterator[Batch]:
    batches = loader(job.tokens, job.scenario.workload.batch_of(job.rank))
    if job.handle is not None:
        batches = job.handle.watch_data(batches)
    return iter(batches)


def _loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    ids_BT, targets_BT = batch
    logits_BTV = model(ids_BT)
    return F.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten())


def _finite(value: float) -> float | None:
    """Events hold numbers only."""
    return value if math.isfinite(value) else None


def _mean_over_ranks(loss: torch.Tensor) -> float | None:
    """What jobs log: the loss averaged over all ranks."""
    total = loss.detach().clone().reshape(1)
    dist.all_reduce(total)
    return _finite(total.item() / dist.get_world_size())


def _is_told_to_stop() -> bool:
    """Rank 0 decides for all, as early stopping does; here it never stops."""
    decision = torch.zeros(1, dtype=torch.int64)
    dist.broadcast(decision, src=0)
    return bool(decision.item())


def _evaluate(job: Job) -> None:
    """Loss on validation batches: no gradients, no update, dropout off."""
    workload = job.scenario.workload
    tokens = Tokens(workload, seed=job.scenario.seed, rank=job.rank, split=VALIDATION)
    job.model.eval()
    with job.phase("evaluation"), torch.no_grad():
        batches = iter(loader(tokens, workload.batch))
        for _ in range(workload.eval_batches):
            time.sleep(workload.eval_pause_s)
            _loss(job.model, next(batches))
    job.model.train()


def _checkpoint(job: Job, step: int) -> None:
    """Model and optimizer to the run's folder; who does not save waits."""
    if job.scenario.workload.checkpoint_by == "every" or job.rank == 0:
        with job.phase("checkpoint"):
            _save(job, step)
            time.sleep(job.scenario.workload.checkpoint_pause_s)
    dist.barrier()


def _save(job: Job, step: int) -> None:
    """Atomically: whoever finds the file finds all of it. The newest replaces others.

    Raises:
        OSError: the folder cannot be written to.
    """
    job.checkpoints.mkdir(exist_ok=True)
    path = job.checkpoints / f"rank{job.rank}.pt"
    draft = path.with_suffix(".tmp")
    state: dict[str, Any] = {
        "step": step,
        "model": job.model.state_dict(),
        "optimizer": job.optimizer.state_dict(),
    }
    with draft.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
