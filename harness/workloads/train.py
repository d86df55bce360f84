"""The job inside one rank: a plain DDP training loop with SCOUT beside it.

    1 join the process group     2 build model, optimizer, data from the seed
    3 attach this rank's faults  4 enable_resiliency: the one call of SCOUT
    5 train (`loop`)             6 heal, close, leave

Called in a process that the runtime made for this rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import scout
import scout.enable
from harness.fabric.endpoint import Endpoint, Network, NoNetwork
from harness.scenario import Scenario, Workload
from harness.store import RunDirectory
from harness.workloads import loop
from harness.workloads.no_compiler import keep_out
from harness.workloads.tokens import Tokens, loader
from harness.workloads.transformer import Transformer
from injectors.fault import RankParameters
from injectors.rank_driver import RankDriver
from scout.discover import examine
from scout.handle import Handle
from scout.recording import backend as recording
from scout.signature import warm_up as warm_up_signature
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
    next(iter(loader(Tokens(Workload(), seed=0, rank=0), 1)))


def main(spec: RankSpec) -> int:
    """Run one rank; returns its exit code."""
    torch.set_num_threads(1)
    run = RunDirectory(path=Path(spec.run_path))
    scenario = run.scenario()
    _join(spec, backend=recording.BACKEND if scenario.workload.recording else "gloo")
    torch.manual_seed(scenario.seed)  # the same weights on every replica
    model = DistributedDataParallel(Transformer(scenario.workload))
    optimizer = torch.optim.AdamW(model.parameters(), lr=scenario.workload.lr)
    torch.manual_seed(scenario.seed * 1_000_003 + spec.rank + 1)  # its own dropout
    with (
        EventWriter(run.events, f"rank{spec.rank}") as events,
        EventWriter(run.events, f"faults.rank{spec.rank}") as truth,
    ):
        tokens = Tokens(scenario.workload, seed=scenario.seed, rank=spec.rank)
        faults = RankDriver(rank=spec.rank, seed=scenario.seed, emit=truth.write)
        _attach(faults, scenario.faults_of(spec.attempt), model, optimizer, tokens,
                is_in_container=spec.is_in_container)  # fmt: skip
        handle = _enable(scenario, model, optimizer, run, events, spec)
        network = _network(scenario, run, spec.rank)
        try:
            loop.train(
                loop.Job(
                    scenario=scenario,
                    rank=spec.rank,
                    model=model,
                    optimizer=optimizer,
                    tokens=tokens,
                    events=events,
                    checkpoints=run.path / "checkpoints",
                    handle=handle,
                    network=network,
                )
            )
        finally:
            network.close()
            faults.finish()
            if handle is not None:
                handle.close()
    dist.destroy_process_group()
    return 0


def _join(spec: RankSpec, backend: str) -> None:
    if backend == recording.BACKEND:
        recording.register()
    store = dist.TCPStore(  # type: ignore[attr-defined]
        spec.store_host,
        spec.store_port,
        spec.world_size,
        is_master=spec.rank == 0,
        master_listen_fd=spec.store_fd,
        wait_for_workers=False,
    )
    dist.init_process_group(
        backend,
        store=store,
        rank=spec.rank,
        world_size=spec.world_size,
        timeout=_GROUP_TIMEOUT,
    )


def _network(scenario: Scenario, run: RunDirectory, rank: int) -> Network:
    if scenario.fabric == "none":
        return NoNetwork()
    return Endpoint.connect(run.control, rank)


def _attach(
    faults: RankDriver,
    named: Sequence[tuple[str, RankParameters]],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    tokens: Tokens,
    *,
    is_in_container: bool,
) -> None:
    anatomy = examine(model, scout.ScoutConfig())
    faults.attach(
        named,
        anatomy.model,
        optimizer,
        anatomy.layers,
        before_fetch=tokens.before_fetch,
        is_in_container=is_in_container,
    )


def _enable(
    scenario: Scenario,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    run: RunDirectory,
    events: EventWriter,
    spec: RankSpec,
) -> Handle | None:
    if scenario.scout == "off":
        return None
    return scout.enable.enable_resiliency(
        model,
        optimizer,
        scenario.scout,
        journal_dir=run.events,
        emit=events.write,
        management_host=spec.management_host,
    )
