"""Run a function on N real gloo ranks, forked from the test process.

Every rank's return value comes back in rank order; an exception in one rank is raised
here with its traceback. Ranks that do not end in time are killed and named.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

# DDP and optimizers import it at first use: once here instead of once in every rank.
import torch._dynamo
import torch.distributed as dist

from scout.recording.backend import register

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def run_ranks(
    world_size: int,
    job: Callable[..., Any],
    folder: Path,
    *args: Any,
    timeout_s: float = 90.0,
    backend: str = "gloo",
) -> list[Any]:
    """Call `job(rank, *args)` on every rank, with a process group joined.

    `backend` is gloo, or scout for gloo with every collective recorded.
    """
    context = multiprocessing.get_context("fork")
    store = folder / f"store-{time.monotonic_ns()}"
    pipes, processes = [], []
    for rank in range(world_size):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_rank, args=(rank, world_size, store, backend, job, args, theirs)
        )
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        return _collect(pipes, time.monotonic() + timeout_s)
    finally:
        for process in processes:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
                process.join()


def _collect(pipes: list[Any], deadline: float) -> list[Any]:
    results = []
    for rank, pipe in enumerate(pipes):
        if not pipe.poll(max(0.0, deadline - time.monotonic())):
            raise TimeoutError(f"rank {rank} did not finish in time")
        try:
            ok, value = pipe.recv()
        except EOFError:
            raise RuntimeError(f"rank {rank} died without a word") from None
        if not ok:
            raise RuntimeError(f"rank {rank} failed:\n{value}")
        results.append(value)
    return results


def _rank(
    rank: int,
    world_size: int,
    store: Path,
    backend: str,
    job: Callable[..., Any],
    args: tuple[Any, ...],
    pipe: Any,
) -> None:
    faulthandler.enable()
    torch.set_num_threads(1)
    try:
        if backend == "scout":
            register()
        dist.init_process_group(
            backend,
            init_method=f"file://{store}",
            rank=rank,
            world_size=world_size,
            timeout=timedelta(seconds=60),
        )
        pipe.send((True, job(rank, *args)))
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        pipe.send((False, traceback.format_exc()))
    finally:
        pipe.close()
        os._exit(0)
