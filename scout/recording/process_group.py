"""A process group that publishes each operation and delegates it unchanged.

A Python subclass of `ProcessGroup` over an ordinary one with gloo (and NCCL): Python
callers and C++ ones (DDP's reducer, FSDP, functional collectives) arrive here alike.
Made by `backend`. It never touches a tensor, and hands on the inner group's result.

    enter (may block from here on) -> inner operation -> leave

A blocking call (`async_op=False`) is waited for in here, so that leaving means that it
is over. An asynchronous one is left when it is launched; who waits for it waits in the
enclosing boundary.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed import GroupName, ProcessGroup

from scout.recording.operations import OPERATIONS, Describer, Operation
from scout.recording.tape import Begun, Tape

logger = logging.getLogger("scout")


class RecordingGroup(ProcessGroup):
    """The group that training uses; `OPERATIONS` are added below the class."""

    def __init__(self, inner: ProcessGroup, tape: Tape, ranks: Sequence[int]) -> None:
        # The constructor for Python subclasses, which PyTorch's stubs leave out.
        super().__init__(inner.rank(), inner.size())  # type: ignore[call-arg]
        self._inner = inner
        self._tape = tape
        self._ranks = tuple(ranks)
        self._describer = Describer()
        self._name = GroupName("")
        self._description = ""
        self._role: str | None = None

    @property
    def group_name(self) -> GroupName:
        """PyTorch's unique name; C++ callers look it up."""
        return self._name

    @property
    def group_desc(self) -> str:
        """PyTorch's description, such as the mesh axis."""
        return self._description

    @property
    def role(self) -> str:
        """Role in the mesh, which fingerprints are counted by."""
        if self._role is None:
            self._role = self._tape.role_of(self._ranks, self._description)
        return self._role

    def _set_group_name(self, name: GroupName) -> None:
        self._name = name
        self._inner._set_group_name(name)

    def _set_group_desc(self, description: str) -> None:
        self._description = description
        self._inner._set_group_desc(description)
        # Named now, in the order of making, which is the same on every rank.
        assert self.role

    def getBackendName(self) -> str:
        """Name under which it was registered; C++ looks for this method."""
        return "scout"

    def size(self) -> int:
        """Ranks of the group."""
        return self._inner.size()

    def rank(self) -> int:
        """Own index in the group."""
        return self._inner.rank()

    def _relay(
        self,
        method: str,
        operation: Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        # `dist.barrier` passes its options by keyword, the others by position.
        given = (*args, *kwargs.values())
        begun = self._begin(operation, given)
        work = getattr(self._inner, method)(*args, **kwargs)
        if work is not None and _is_blocking(operation, given):
            self._wait(work)
        elif self._tape.waits is not None:
            self._tape.waits.spoil()
        if operation.is_compared:
            self._tape.end(begun)
        return work

    def _wait(self, work: Any) -> None:
        waits = self._tape.waits
        if waits is None:
            work.wait()
            return
        waits.hold()
        try:
            work.wait()
        finally:
            waits.release()

    def _begin(self, operation: Operation, args: tuple[Any, ...]) -> Begun | None:
        try:
            fingerprint = self._describer.describe(operation, args)
            return self._tape.begin(self.role, operation.name, fingerprint)
        except Exception:
            # Whatever a foreign caller passed: training goes on (DESIGN 2.7).
            self._tape.fail()
            logger.exception("scout: collectives are no longer recorded")
            return None


def _is_blocking(operation: Operation, args: tuple[Any, ...]) -> bool:
    """Whether the caller is `torch.distributed` and will wait at once."""
    asked = getattr(args[-1], "asyncOp", None) if args else None
    return asked is False and operation.is_compared


def _operation(method: str, operation: Operation) -> Callable[..., Any]:
    def relay(self: RecordingGroup, *args: Any, **kwargs: Any) -> Any:
        return self._relay(method, operation, args, kwargs)

    relay.__name__ = method
    relay.__doc__ = f"Publish and delegate `{operation.name}`."
    return relay


def _delegate(method: str) -> Callable[..., Any]:
    def delegate(self: RecordingGroup, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._inner, method)(*args, **kwargs)

    delegate.__name__ = method
    delegate.__doc__ = f"Delegate `{method}`."
    return delegate


_UNRECORDED = (
    "_start_coalescing",
    "_end_coalescing",
    "_set_sequence_number_for_group",
    "_get_sequence_number_for_group",
    "set_timeout",
    "shutdown",
    "abort",
)

for _method, _entry in OPERATIONS.items():
    setattr(RecordingGroup, _method, _operation(_method, _entry))
for _method in _UNRECORDED:
    setattr(RecordingGroup, _method, _delegate(_method))


def make_inner(store: Store, rank: int, size: int, timeout: timedelta) -> ProcessGroup:
    """An ordinary group: gloo for the CPU, NCCL for CUDA where both are there."""
    inner = ProcessGroup(store, rank, size)
    gloo = dist.ProcessGroupGloo(PrefixStore("cpu/", store), rank, size, timeout)
    kinds = ProcessGroup.BackendType
    inner._set_default_backend(kinds.GLOO)
    inner._register_backend(torch.device("cpu"), kinds.GLOO, gloo)
    if torch.cuda.is_available() and dist.is_nccl_available():
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = timeout
        nccl = dist.ProcessGroupNCCL(PrefixStore("cuda/", store), rank, size, options)
        inner._set_default_backend(kinds.NCCL)
        inner._register_backend(torch.device("cuda"), kinds.NCCL, nccl)
    inner._set_sequence_number_for_group()
    return inner
