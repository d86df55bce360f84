"""Healthy jobs are silent: over seeds, and beside processes that take the CPUs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from harness.scenario import Workload
from harness.workloads.transformer import Transformer
from scout.config import ScoutConfig
from scout.enable import enable_resiliency
from tests.jobs import run_ranks

pytestmark = pytest.mark.jobs

WORKLOAD = Workload(
    d_model=32, num_heads=2, num_layers=1, vocab_size=64, seq_len=8, batch=2
)


def _train(rank: int, seed: int, steps: int, config: ScoutConfig) -> list[str]:
    """Reasons of all verdicts of one healthy job."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(Transformer(WORKLOAD))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1000 * seed + rank)
    handle = enable_resiliency(model, optimizer, config)
    for _ in range(steps):
        ids = torch.randint(WORKLOAD.vocab_size, (2, WORKLOAD.seq_len + 1))
        logits = model(ids[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    handle.close()
    assert handle.disabled is None
    return [verdict.reason for verdict in handle.verdicts]


def _many_seeds(rank: int) -> list[str]:
    config = ScoutConfig(replay_every=2, observer=False)
    return [reason for seed in range(20) for reason in _train(rank, seed, 12, config)]


def test_twenty_clean_seeds_give_no_verdict(tmp_path: Path) -> None:
    # 20 seeds x 6 checks; exact surfaces have no false-alarm rate, and a straggler
    # needs a rank 20 ms and 50 % over the median at two boundaries.
    assert run_ranks(4, _many_seeds, tmp_path, timeout_s=200) == [[]] * 4


def _long(rank: int) -> list[str]:
    return _train(rank, 3, 300, ScoutConfig(replay_every=1, observer=False))


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.timeout(400)
def test_three_hundred_steps_beside_two_busy_loops_blame_nobody(
    tmp_path: Path,
) -> None:
    with busy_loops(2):
        # Three: enough for a majority, and a third fewer to share two cores with.
        assert run_ranks(3, _long, tmp_path, timeout_s=380) == [[]] * 3
