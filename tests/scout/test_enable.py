"""SCOUT attached to real gloo jobs: it sees faults, and it changes nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from harness.scenario import Workload
from harness.workloads.transformer import Transformer
from scout.config import ScoutConfig
from scout.enable import enable_resiliency
from scout.errors import SetupError
from scout.mesh import Mesh
from tests.jobs import run_ranks

QUIET = ScoutConfig(replay_every=2, observer=False)
SMALL = Workload(d_model=16, num_heads=2, vocab_size=64, seq_len=8, batch=2)


def _reduce_in_rank_order(_: Any, bucket: Any) -> Any:
    """A reduction whose order is fixed, unlike gloo's (FACTS)."""
    mine = bucket.buffer()
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(sum(parts[1:], parts[0]) / len(parts))
    return future


# DDP reads these objects; the string annotations of this file would be refused.
_reduce_in_rank_order.__annotations__ = {
    "bucket": dist.GradBucket,
    "return": torch.futures.Future[torch.Tensor],
}


def _job(rank: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = DistributedDataParallel(Transformer(SMALL))
    model.register_comm_hook(None, _reduce_in_rank_order)
    torch.manual_seed(100 + rank)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def _step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    ids = torch.randint(SMALL.vocab_size, (SMALL.batch, SMALL.seq_len + 1))
    logits = model(ids[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


def _final_state(rank: int, config: ScoutConfig | None) -> dict[str, bytes]:
    model, optimizer = _job(rank)
    random.seed(5)
    handle = enable_resiliency(model, optimizer, config) if config else None
    for _ in range(7):
        _step(model, optimizer)
    if handle is not None:
        assert handle.verdicts == ()
        assert handle.disabled is None
        handle.close()
    state = {name: t.numpy().tobytes() for name, t in model.state_dict().items()}
    for index, slots in optimizer.state_dict()["state"].items():
        for name, value in slots.items():
            state[f"{index}.{name}"] = value.numpy().tobytes()
    state["rng"] = torch.get_rng_state().numpy().tobytes()
    state["python"] = repr(random.getstate()).encode()
    state["hooks"] = str(
        sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())
    ).encode()
    return state


@pytest.mark.jobs
@pytest.mark.parametrize("world_size", [2, 4])
def test_weights_optimizer_state_and_rng_are_bitwise_equal_with_and_without_scout(
    world_size: int, tmp_path: Path
) -> None:
    plain = run_ranks(world_size, _final_state, tmp_path, None)
    watched = run_ranks(
        world_size, _final_state, tmp_path, ScoutConfig(replay_every=1, observer=False)
    )
    assert watched == plain


@pytest.mark.jobs
def test_nothing_changes_with_the_observer_either(tmp_path: Path) -> None:
    plain = run_ranks(2, _final_state, tmp_path, None)
    watched = run_ranks(2, _final_state, tmp_path, ScoutConfig(replay_every=2))
    assert watched == plain


class Skipping(nn.Module):
    """A model whose second layer rank 1 never calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first: torch.Tensor = self.layers[0](x)
        if dist.get_rank() == 1:
            return first
        second: torch.Tensor = self.layers[1](first)
        return second


def _skip(rank: int) -> tuple[list[Any], str | None]:
    torch.manual_seed(0)
    model = Skipping()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    handle = enable_resiliency(
        model, optimizer, ScoutConfig(replay_every=1, recipes=("hidden",),
                                      observer=False)
    )  # fmt: skip
    for _ in range(4):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    handle.close()
    return [
        (v.state.value, v.missing, v.step) for v in handle.verdicts
    ], handle.disabled


@pytest.mark.jobs
def test_a_rank_without_a_capture_is_incomplete_data_and_never_a_deadlock(
    tmp_path: Path,
) -> None:
    results = run_ranks(3, _skip, tmp_path)
    # layer 0 is complete at steps 1 and 3; layer 1 is not, at steps 2 and 4
    expected = [("incomplete_data", ("rank1",), 2), ("incomplete_data", ("rank1",), 4)]
    assert results == [(expected, None)] * 3


def _failing_replay(rank: int) -> list[Any]:
    torch.manual_seed(0)
    model = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(4, 4)])})
    layer = model["layers"][0]  # type: ignore[index]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    handle = enable_resiliency(
        model, optimizer, ScoutConfig(replay_every=2, recipes=("hidden",),
                                      observer=False)
    )  # fmt: skip
    calls = 0

    def fail_in_replay(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if rank == 2 and calls > 2:
            raise RuntimeError("out of memory")

    layer.register_forward_pre_hook(fail_in_replay)
    for _ in range(2):
        layer(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    handle.close()
    return [(v.state.value, v.missing) for v in handle.verdicts]


@pytest.mark.jobs
def test_a_replay_that_fails_on_one_rank_is_missing_evidence(tmp_path: Path) -> None:
    results = run_ranks(3, _failing_replay, tmp_path)
    assert results == [[("incomplete_data", ("rank2",))]] * 3


def _with_fault(rank: int, corrupt: str) -> list[tuple[str, tuple[str, ...], str]]:
    model, optimizer = _job(rank)
    if rank == 1:  # before SCOUT, whose hooks at the same boundary must see it
        _corrupt(model, optimizer, corrupt)
    handle = enable_resiliency(model, optimizer, QUIET)
    for _ in range(8):
        _step(model, optimizer)
    handle.close()
    return [(v.kind.value, v.blamed, str(v.surface)) for v in handle.verdicts]


def _corrupt(model: nn.Module, optimizer: torch.optim.Optimizer, what: str) -> None:
    inner: Any = model.module
    layer = inner.blocks[1].mlp[2]
    if what == "output":
        layer.register_forward_hook(lambda m, a, out: out + 2.0**-20)
    elif what == "large inputs":  # seen by the x10 variant only
        inner.blocks[1].register_forward_hook(
            lambda m, a, out: out + 1.0 if a[0].abs().max() > 20.0 else out
        )
    elif what == "gradient":

        def flip(*_: Any) -> None:
            layer.weight.grad.view(-1)[3].mul_(1 + 2**-22)

        optimizer.register_step_pre_hook(flip)
    elif what == "slot":

        def spoil(*_: Any) -> None:
            state = optimizer.state.get(layer.weight)
            if state:
                state["exp_avg_sq"].view(-1)[5].add_(1e-12)

        optimizer.register_step_pre_hook(spoil)


@pytest.mark.jobs
@pytest.mark.parametrize(
    ("corrupt", "surface"),
    [
        ("output", "hidden.output[x1]"),
        ("large inputs", "hidden.output[x10]"),
        ("gradient", "optimizer.gradient"),
        ("slot", "optimizer.slots"),
    ],
)
def test_each_surface_names_the_rank_whose_values_differ(
    corrupt: str, surface: str, tmp_path: Path
) -> None:
    results = run_ranks(4, _with_fault, tmp_path, corrupt)
    assert all(result == results[0] for result in results)
    kinds = {(kind, blamed) for kind, blamed, _ in results[0]}
    assert kinds == {("sdc", ("rank1",))}
    assert results[0][0][2] == surface


def _tier(rank: int) -> tuple[str, bool]:
    model, optimizer = _job(rank)
    handle = enable_resiliency(model, optimizer, QUIET)
    blind = any("two peers" in item for item in handle.tier.blind)
    handle.close()
    handle.close()
    return handle.tier.name, blind


@pytest.mark.jobs
def test_the_handle_reports_its_tier_and_what_it_cannot_see(tmp_path: Path) -> None:
    assert run_ranks(2, _tier, tmp_path) == [("boundaries", True)] * 2


def test_without_a_process_group_the_error_says_what_to_call() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(SetupError, match="init_process_group first"):
        enable_resiliency(model, torch.optim.SGD(model.parameters()))


def _wrong_setup(rank: int) -> list[str]:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters())
    found = []
    for keywords in (
        {"mesh": Mesh.from_sizes(dp=3)},
        {"config": ScoutConfig(layers="blocks")},
    ):
        try:
            enable_resiliency(model, optimizer, **keywords)  # type: ignore[arg-type]
        except SetupError as error:
            found.append(str(error))
    return found


@pytest.mark.jobs
def test_setup_errors_name_the_setting(tmp_path: Path) -> None:
    (errors,) = run_ranks(1, _wrong_setup, tmp_path)
    assert errors[0] == "the mesh has 3 ranks, the job 1"
    assert errors[1].startswith("layers is 'blocks'; allowed: one of")


SCRIPT = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from scout import ScoutConfig, enable_resiliency
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
handle = enable_resiliency(model, optimizer, ScoutConfig(replay_every=1))
for _ in range(3):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print(f"[{handle.tier.name} {handle.verdicts} {handle.disabled}]", flush=True)
dist.destroy_process_group()
"""


@pytest.mark.jobs
def test_a_torchrun_script_needs_one_call_and_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         "--local-addr=127.0.0.1", "--nproc-per-node=2", str(script)],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("[boundaries () None]") == 2
