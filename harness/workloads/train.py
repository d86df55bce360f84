"""The job inside one rank: a plain DDP training loop with SCOUT beside it.

    1 join the process group     2 build model, optimizer, data from the seed
    3 attach this rank's faults  4 enable_resiliency: the one call of SCOUT
    5 train, one event per step  6 heal, close, leave

Called in a process that the runtime made for this rank. The loop itself knows nothing
of faults or of SCOUT: both act through hooks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import scout
import scout.enable
from harness.scenario import Scenario
from harness.store import RunDirectory
from harness.workloads.no_compiler import keep_out
from harness.workloads.transformer import Transformer
from injectors.fault import RankParameters
from injectors.rank_driver import RankDriver
from scout.discover import examine
from scout.handle import Handle
from scout.signature import warm_up as warm_up_signature
from vocab.events import StepEnded
from vocab.journal import EventWriter

if TYPE_CHECKING:
    from harness.runtime.base import RankSpec

# A frozen rank must be found by SCOUT, not by gloo's own time-out.
_GROUP_TIMEOUT = timedelta(hours=1)


def warm_up() -> None:
    """Everything that is slow once and the same in every rank: done before forking."""
    keep_out()
    torch.set_num_threads(1)
    warm_up_signature()
    layer = torch.nn.Linear(8, 8)
    loss = F.cross_entropy(layer(torch.zeros(2, 8)), torch.zeros(2, dtype=torch.long))
    loss.backward()  # type: ignore[no-untyped-call]


def main(spec: RankSpec) -> int:
    """Run one rank; returns its exit code."""
    torch.set_num_threads(1)
    run = RunDirectory(path=Path(spec.run_path))
    scenario = run.scenario()
    _join(spec)
    torch.manual_seed(scenario.seed)  # the same weights on every replica
    model = DistributedDataParallel(Transformer(scenario.workload))
    optimizer = torch.optim.AdamW(model.parameters(), lr=scenario.workload.lr)
    torch.manual_seed(scenario.seed * 1_000_003 + spec.rank + 1)  # its own dropout
    with (
        EventWriter(run.events, f"rank{spec.rank}") as events,
        EventWriter(run.events, f"faults.rank{spec.rank}") as truth,
    ):
        faults = RankDriver(rank=spec.rank, seed=scenario.seed, emit=truth.write)
        _attach(faults, scenario, model, optimizer)
        handle = _enable(scenario, model, optimizer, run, events)
        try:
            _train(scenario, spec.rank, model, optimizer, events)
        finally:
            faults.finish()
            if handle is not None:
                handle.close()
    dist.destroy_process_group()
    return 0


def _join(spec: RankSpec) -> None:
    store = dist.TCPStore(  # type: ignore[attr-defined]
        spec.store_host,
        spec.store_port,
        spec.world_size,
        is_master=spec.rank == 0,
        master_listen_fd=spec.store_fd,
        wait_for_workers=False,
    )
    dist.init_process_group(
        "gloo",
        store=store,
        rank=spec.rank,
        world_size=spec.world_size,
        timeout=_GROUP_TIMEOUT,
    )


def _attach(
    faults: RankDriver,
    scenario: Scenario,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    anatomy = examine(model, scout.ScoutConfig())
    named = [
        (fault_id, fault)
        for fault_id, fault in scenario.named_faults()
        if isinstance(fault, RankParameters)
    ]
    faults.attach(named, anatomy.model, optimizer, anatomy.layers)


def _enable(
    scenario: Scenario,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    run: RunDirectory,
    events: EventWriter,
) -> Handle | None:
    if scenario.scout == "off":
        return None
    return scout.enable.enable_resiliency(
        model,
        optimizer,
        scenario.scout,
        journal_dir=run.events,
        emit=events.write,
    )


def _train(
    scenario: Scenario,
    rank: int,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    events: EventWriter,
) -> None:
    batches = _batches(scenario, rank)
    for step in range(1, scenario.steps + 1):
        began = time.perf_counter()
        ids_BT, targets_BT = next(batches)
        logits_BTV = model(ids_BT)
        loss = F.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        took = time.perf_counter() - began
        events.write(StepEnded(step=step, duration_s=took, loss=loss.item()))
        if scenario.workload.step_pause_s:
            time.sleep(scenario.workload.step_pause_s)


def _batches(
    scenario: Scenario, rank: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Token ids and next tokens, a stream of its own per seed and rank."""
    workload = scenario.workload
    source = torch.Generator().manual_seed(scenario.seed * 7919 + rank)
    shape = (workload.batch, workload.seq_len + 1)
    while True:
        ids = torch.randint(workload.vocab_size, shape, generator=source)
        yield ids[:, :-1], ids[:, 1:]
