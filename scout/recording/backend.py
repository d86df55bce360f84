"""Makes the recording process group known to PyTorch, and chooses it for a script.

    scout.recording.backend.register()               then init_process_group("scout")
    python -m scout train.py                          calls `choose` before the script

Called by users, by the testbed's workloads and by `scout.__main__`. Groups that name a
backend of their own (`new_group(backend="gloo")`, as SCOUT's diagnostic groups do) are
not recorded.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

from scout.recording.process_group import RecordingGroup, make_inner
from scout.recording.tape import Tape

BACKEND = "scout"

_REPLACED = (None, "gloo", "nccl", "cpu:gloo,cuda:nccl")
"""Backends that the recording group stands in for; None is PyTorch's own choice."""

_tape: Tape | None = None  # set by `register`: PyTorch's registry is per process too


def register() -> Tape:
    """Register the backend `scout`; a second call returns the same tape."""
    global _tape
    if _tape is None:
        tape = Tape()

        def make(options: Any, _: Any) -> RecordingGroup:
            inner = make_inner(
                options.store, options.group_rank, options.group_size, options.timeout
            )
            return RecordingGroup(inner, tape, options.global_ranks_in_group)

        dist.Backend.register_backend(
            BACKEND, make, extended_api=True, devices=["cpu", "cuda"]
        )
        _tape = tape
    return _tape


def recording_tape() -> Tape | None:
    """The tape, if this process's training group is recorded; None otherwise."""
    if _tape is None or not dist.is_initialized():
        return None
    is_recorded = isinstance(distributed_c10d._get_default_group(), RecordingGroup)
    return _tape if is_recorded else None


def choose() -> None:
    """Let `init_process_group` choose this backend in place of gloo or NCCL."""
    register()
    original = distributed_c10d.init_process_group

    @functools.wraps(original)
    def init_process_group(
        backend: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        name = backend.lower() if isinstance(backend, str) else backend
        if name in _REPLACED:
            backend = BACKEND
        else:
            sys.stderr.write(
                f"scout: backend {backend!r} is kept; collectives are not recorded\n"
            )
        original(backend, *args, **kwargs)

    for module in list(sys.modules.values()):
        # Modules of torch that imported the name before us call it, too.
        is_torchs = getattr(module, "__name__", "").startswith("torch.distributed")
        if is_torchs and module.__dict__.get("init_process_group") is original:
            vars(module)["init_process_group"] = init_process_group
