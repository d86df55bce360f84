"""Flight-recorder dumps of real gloo jobs: torch's own bytes name the right rank."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace

from scout.flight_dump import Dump, parse
from scout.flight_groups import groups_of, world_of
from scout.flight_recorder import judge
from scout.hang_finding import HangFinding
from scout.plain_pickle import loads
from tests.jobs import run_ranks
from tests.scout.dump_builder import content, entry

pytestmark = pytest.mark.jobs

NUM_RANKS = 4
CULPRIT = 2


def dumps_of_rank(rank: int, folder: Path, last: Callable[[int], None]) -> bytes:
    """Train a little, let all but the culprit call `last`, dump, then let it call."""
    for _ in range(3):
        dist.all_reduce(torch.ones(8))
    dist.barrier()
    caller = threading.Thread(target=last, args=(rank,), daemon=True)
    marks = [folder / f"dumped-{r}" for r in range(NUM_RANKS) if r != CULPRIT]
    if rank != CULPRIT:
        caller.start()
        time.sleep(0.3)  # the call has to reach gloo; it cannot tell when it has
    else:
        while not all(mark.exists() for mark in marks):
            time.sleep(0.01)
    data: bytes = _dump_fr_trace()
    (folder / f"dumped-{rank}").touch()
    if rank == CULPRIT:
        caller.start()
    caller.join()
    return data


def all_reduce(rank: int) -> None:
    dist.all_reduce(torch.ones(5))


def parsed(found: list[bytes]) -> list[Dump]:
    dumps = [parse(data, file=f"rank_{r}", rank=r) for r, data in enumerate(found)]
    assert {dump.version for dump in dumps} == {"2.10"}
    return dumps


def settled_dump() -> bytes:
    """A dump once the recorder knows what the caller knows: all calls are complete.

    gloo tells the recorder in a thread of its own, a moment after the call returned.
    """
    deadline = time.monotonic() + 5.0
    while True:
        data: bytes = _dump_fr_trace()
        is_done = all(item["retired"] for item in loads(data)["entries"])
        if is_done or time.monotonic() > deadline:
            return data
        time.sleep(0.01)


def finding(dumps: list[Dump], **more: bool) -> HangFinding:
    (group,) = groups_of(dumps, world_of(dumps, NUM_RANKS))
    return judge(group, silence_s=0.0, **more).finding


def test_the_rank_that_did_not_come_is_named(tmp_path: Path) -> None:
    found = run_ranks(NUM_RANKS, dumps_of_rank, tmp_path, tmp_path, all_reduce)
    dumps = parsed(found)
    named = finding(dumps)
    assert (named.blamed, named.victims) == ((CULPRIT,), (0, 1, 3))
    assert named.reason == (
        "rank2 stopped after barrier 4 of group default_pg (0); 3 of 4 wait in "
        "all_reduce 5 of group default_pg (0)"
    )
    without = [dump for dump in dumps if dump.rank != CULPRIT]
    assert finding(without).blamed == ()
    assert finding(without, all_dumps_given=True).blamed == (CULPRIT,)
    whole = loads(found[0])
    assert set(whole) == set(content([]))
    assert set(whole["entries"][0]) == set(entry(0, 1, backend="gloo"))


def steps_with_another_dtype(rank: int) -> bytes:
    """int32 against float32: gloo completes it, with wrong numbers (FACTS)."""
    dist.all_reduce(torch.ones(8))
    dtype = torch.int32 if rank == CULPRIT else torch.float32
    dist.all_reduce(torch.ones(8, dtype=dtype))
    dist.barrier()
    return settled_dump()


def test_a_mismatch_that_completes_is_named_too(tmp_path: Path) -> None:
    named = finding(parsed(run_ranks(NUM_RANKS, steps_with_another_dtype, tmp_path)))
    assert (named.reason_code, named.blamed) == ("collective_mismatch", (CULPRIT,))
    assert named.surface == "default_pg (0)[2] dtype"


def healthy(rank: int) -> bytes:
    """Every collective that gloo records, on the whole world and a half of it."""
    half = dist.new_group([0, 1], group_desc="half")
    t = torch.ones(4)
    lists = [torch.zeros(4) for _ in range(NUM_RANKS)]
    dist.reduce(t, 0)
    dist.broadcast(t, 1)
    dist.scatter(t, lists if rank == 0 else None, src=0)
    dist.gather(t, lists if rank == 0 else None, dst=0)
    dist.all_gather(lists, t)
    dist.all_to_all_single(torch.zeros(4), torch.ones(4))
    if rank in (0, 1):
        dist.all_reduce(t, group=half)
    dist.barrier()
    return settled_dump()


def test_a_healthy_job_is_healthy_in_each_of_its_groups(tmp_path: Path) -> None:
    dumps = parsed(run_ranks(NUM_RANKS, healthy, tmp_path))
    groups = groups_of(dumps, world_of(dumps))
    assert [(group.label, group.ranks) for group in groups] == [
        ("default_pg (0)", (0, 1, 2, 3)),
        ("half (1)", (0, 1)),
    ]
    codes = {judge(group, silence_s=0.0).finding.reason_code for group in groups}
    assert codes == {"all_done"}
