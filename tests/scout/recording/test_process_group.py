"""Recorded collectives give the same bits as gloo's, and are all in the ring."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from scout.progress import ProgressRing
from scout.recording.backend import recording_tape, register
from scout.ring_reader import RingReader
from tests.jobs import run_ranks
from vocab.events import RingEntry

pytestmark = pytest.mark.jobs


def digest(*tensors: torch.Tensor) -> str:
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def whole(rank: int, *shape: int) -> torch.Tensor:
    """Whole numbers as floats: their sums are exact in any order."""
    generator = torch.Generator().manual_seed(rank)
    return torch.randint(-50, 50, shape, generator=generator).float()


def attach(folder: str, rank: int) -> ProgressRing:
    ring = ProgressRing.create(Path(folder) / f"ring{rank}", rank=rank)
    tape = recording_tape()
    assert tape is not None
    tape.attach(ring)
    tape.move(1, "forward")
    return ring


def read(ring: ProgressRing) -> tuple[RingEntry, ...]:
    reader = RingReader.open(ring.path)
    entries = reader.snapshot(255, now_ns=0).entries
    reader.close()
    return entries


# --- every operation ------------------------------------------------------------------


def _every_operation(rank: int) -> str:
    n = dist.get_world_size()
    x = whole(rank, 4 * n)
    seen: list[torch.Tensor] = []

    def out(*shape: int) -> torch.Tensor:
        seen.append(torch.full(shape, -1.0))
        return seen[-1]

    for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN):
        seen.append(x.clone())
        dist.all_reduce(seen[-1], op)
    seen.append(x.clone())
    work = dist.all_reduce(seen[-1], async_op=True)
    work.wait()
    work = dist.all_reduce(x.clone(), async_op=True)
    seen.append(work.get_future().wait()[0])
    seen.append(x.clone())
    dist.broadcast(seen[-1], n - 1)
    seen.append(x.clone())
    dist.reduce(seen[-1], 0)
    dist.all_gather([out(4 * n) for _ in range(n)], x)
    dist.all_gather_into_tensor(out(4 * n * n), x)
    dist.reduce_scatter_tensor(out(4), x)
    dist.all_to_all_single(out(4 * n), x)
    splits = [4] * n
    dist.all_to_all_single(out(4 * n), x, splits, splits)
    dist.all_to_all([out(4) for _ in range(n)], list(x.split(4)))
    dist.gather(x, [out(4 * n) for _ in range(n)] if rank == 0 else None, 0)
    dist.scatter(out(4), list(x.split(4)) if rank == 0 else None, 0)
    dist.barrier()
    requests = [
        dist.P2POp(dist.isend, x, (rank + 1) % n),
        dist.P2POp(dist.irecv, out(4 * n), (rank - 1) % n),
    ]
    for request in dist.batch_isend_irecv(requests):
        request.wait()
    if rank == 0:
        dist.send(x, 1)
    elif rank == 1:
        dist.recv(out(4 * n), 0)
    objects: list[Any] = [None] * n
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(n)]
    world = dist.group.WORLD
    seen.append(funcol.all_reduce(x, "sum", world) * 1)
    seen.append(funcol.all_gather_tensor(x, 0, world) * 1)
    seen.append(funcol.reduce_scatter_tensor(x, "sum", 0, world) * 1)
    seen.append(funcol.all_to_all_single(x, None, None, world) * 1)
    seen.append(funcol.all_reduce_coalesced([x, x], "sum", world)[1] * 1)
    half = dist.new_group([0, 1])
    if rank < 2:
        seen.append(x.clone())
        dist.all_reduce(seen[-1], group=half)
    return digest(*seen)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_operation_gives_the_bits_of_gloo(tmp_path: Path) -> None:
    plain = run_ranks(3, _every_operation, tmp_path)
    assert run_ranks(3, _every_operation, tmp_path, backend="scout") == plain


# --- training -------------------------------------------------------------------------


def _build() -> torch.nn.Module:
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.Linear(16, 32),
        torch.nn.BatchNorm1d(32),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(32, 4),
    )


def _train_ddp(rank: int, folder: str) -> tuple[str, list[str]]:
    model = DistributedDataParallel(_build(), bucket_cap_mb=0.001)
    ring = None if recording_tape() is None else attach(folder, rank)
    optimizer = torch.optim.AdamW(model.parameters())
    torch.manual_seed(rank)
    for _ in range(4):
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    state = list(model.state_dict().values())
    slots = [
        value
        for entry in optimizer.state.values()
        for value in entry.values()
        if isinstance(value, torch.Tensor)
    ]
    names = [] if ring is None else [entry.name for entry in read(ring)]
    if ring is not None:
        ring.close()
    return digest(*state, *slots, torch.get_rng_state()), names


def test_ddp_trains_to_the_same_bits_and_its_reducer_is_seen(tmp_path: Path) -> None:
    # Two ranks: a sum of two is the same in either order, gloo's order is not fixed.
    plain = run_ranks(2, _train_ddp, tmp_path, str(tmp_path))
    recorded = run_ranks(2, _train_ddp, tmp_path, str(tmp_path), backend="scout")
    assert [bits for bits, _ in recorded] == [bits for bits, _ in plain]
    for _, names in recorded:
        assert names.count("all_reduce") >= 4  # a bucket and more in each step
        assert "broadcast" in names  # BatchNorm's buffers


def _exact_ddp(rank: int) -> str:
    layer = torch.nn.Linear(8, 8)
    with torch.no_grad():
        layer.weight.copy_(whole(99, 8, 8))
        layer.bias.zero_()
    model = DistributedDataParallel(layer)
    model(whole(rank, 4, 8)).sum().backward()
    assert layer.weight.grad is not None
    return digest(layer.weight.grad)


def test_ddp_on_four_ranks_reduces_to_the_same_bits(tmp_path: Path) -> None:
    plain = run_ranks(4, _exact_ddp, tmp_path)
    assert len(set(plain)) == 1
    assert run_ranks(4, _exact_ddp, tmp_path, backend="scout") == plain


def _train_fsdp(rank: int, folder: str) -> tuple[str, list[tuple[object, ...]]]:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("shard",))
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    ring = None if recording_tape() is None else attach(folder, rank)
    optimizer = torch.optim.AdamW(model.parameters())
    torch.manual_seed(rank)
    for _ in range(3):
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    shards = [parameter.to_local() for parameter in model.parameters()]  # type: ignore[operator]
    seen = [] if ring is None else [(e.name, e.group_role) for e in read(ring)]
    if ring is not None:
        ring.close()
    return digest(*shards), list(dict.fromkeys(seen))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_fsdp2_trains_to_the_same_bits_and_its_gathers_are_seen(
    tmp_path: Path,
) -> None:
    plain = run_ranks(2, _train_fsdp, tmp_path, str(tmp_path))
    recorded = run_ranks(2, _train_fsdp, tmp_path, str(tmp_path), backend="scout")
    assert [bits for bits, _ in recorded] == [bits for bits, _ in plain]
    for _, seen in recorded:
        assert {name for name, _ in seen} >= {
            "all_gather_single",
            "reduce_scatter_single",
        }


# --- what is published ----------------------------------------------------------------


def _publish(rank: int, folder: str) -> list[tuple[object, ...]]:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    ring = attach(folder, rank)
    x = torch.ones(6)
    dist.all_reduce(x)
    dist.all_reduce(x, op=dist.ReduceOp.MAX, group=mesh.get_group("tp"))
    dist.broadcast(x, group_src=1, group=mesh.get_group("dp"))
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    work.wait()
    seen = [
        (e.name, e.group_role, e.group_seq, e.fingerprint, e.left_ns is not None)
        for e in read(ring)
    ]
    ring.close()
    return seen


def test_all_ranks_publish_the_same_sequence_by_role(tmp_path: Path) -> None:
    results = run_ranks(4, _publish, tmp_path, str(tmp_path), backend="scout")
    assert all(result == results[0] for result in results)
    first = results[0][0][2]  # how often the world was used for making the groups
    assert [entry[:3] for entry in results[0]] == [
        ("all_reduce", "world", first),
        ("all_reduce", "mesh_tp", 0),
        ("broadcast", "mesh_dp", 0),
        ("all_reduce", "world", first + 1),
    ]
    assert results[0][1][3] == "all_reduce|max|float32|[6]|root=-"
    assert results[0][2][3] == "broadcast|-|float32|[6]|root=1"
    assert all(entry[4] for entry in results[0])


def _pending(rank: int, folder: str) -> bool:
    ring = attach(folder, rank)
    if rank == 0:
        # The peer comes later: until then the entry must say that we are inside.
        thread = threading.Thread(target=dist.barrier)
        thread.start()
        while not read(ring) or read(ring)[-1].name != "barrier":
            thread.join(0.005)
        thread.join(0.2)  # launched by now: a call that does not wait would be left
        inside = read(ring)[-1].left_ns is None and thread.is_alive()
        dist.distributed_c10d._get_default_store().set("go", "1")
        thread.join()
        done = read(ring)[-1].left_ns is not None
        ring.close()
        return inside and done
    dist.distributed_c10d._get_default_store().wait(["go"])
    dist.barrier()
    ring.close()
    return True


def test_a_blocking_collective_is_published_before_it_blocks(tmp_path: Path) -> None:
    assert run_ranks(2, _pending, tmp_path, str(tmp_path), backend="scout") == [
        True,
        True,
    ]


def _own_backend(rank: int, folder: str) -> tuple[bool, int]:
    ring = attach(folder, rank)
    diagnostic = dist.new_group(backend="gloo")
    before = len(read(ring))
    dist.all_reduce(torch.ones(1), group=diagnostic)
    after = len(read(ring))
    ring.close()
    return register() is recording_tape(), after - before


def test_groups_that_name_gloo_are_not_recorded(tmp_path: Path) -> None:
    results = run_ranks(2, _own_backend, tmp_path, str(tmp_path), backend="scout")
    assert results == [(True, 0)] * 2


def _no_tape(rank: int) -> bool:
    return recording_tape() is None


def test_a_job_on_plain_gloo_has_no_tape(tmp_path: Path) -> None:
    assert run_ranks(2, _no_tape, tmp_path) == [True, True]
