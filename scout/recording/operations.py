"""What to publish of each operation of a process group (SCOUT sec. 7 "fingerprint").

One literal table: method of the group -> what it is called, which argument has the
shape that all callers share, and which arguments make that shape rank-dependent. Knows
the methods of torch 2.13 (`all_gather_single`, ...) beside the older ones. Used by
`process_group`; reads shapes, never values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scout.fingerprint import ANY, NONE, Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of a process group."""

    name: str
    shared: int | None = None
    """Argument whose shape and dtype all callers share; None: it has none."""

    ragged: int | None = None
    """Argument (list of lists of tensors) that makes the shape rank-dependent when its
    tensors are of several shapes."""

    splits: tuple[int, ...] = ()
    """Arguments that make the shape rank-dependent when they are not empty."""

    reduces: bool = False
    """Its options name a reduction."""

    is_rooted: bool = False
    """Its options name a root."""

    is_free: bool = False
    """Shapes may always differ between callers."""

    is_compared: bool = True
    """False: point to point, published only."""


OPERATIONS: dict[str, Operation] = {
    "allreduce": Operation(name="all_reduce", shared=0, reduces=True),
    "allreduce_coalesced": Operation(
        name="all_reduce_coalesced", shared=0, reduces=True
    ),
    "reduce": Operation(name="reduce", shared=0, reduces=True, is_rooted=True),
    "broadcast": Operation(name="broadcast", shared=0, is_rooted=True),
    "allgather": Operation(name="all_gather", shared=1, ragged=0),
    "allgather_coalesced": Operation(name="all_gather_coalesced", shared=1),
    "_allgather_base": Operation(name="all_gather_single", shared=1),
    "all_gather_single": Operation(name="all_gather_single", shared=1),
    "allgather_into_tensor_coalesced": Operation(
        name="all_gather_single_coalesced", shared=1
    ),
    "all_gather_single_coalesced": Operation(
        name="all_gather_single_coalesced", shared=1
    ),
    "reduce_scatter": Operation(
        name="reduce_scatter", shared=0, reduces=True, ragged=1
    ),
    "_reduce_scatter_base": Operation(
        name="reduce_scatter_single", shared=1, reduces=True
    ),
    "reduce_scatter_single": Operation(
        name="reduce_scatter_single", shared=1, reduces=True
    ),
    "reduce_scatter_tensor_coalesced": Operation(
        name="reduce_scatter_single_coalesced", shared=1, reduces=True
    ),
    "reduce_scatter_single_coalesced": Operation(
        name="reduce_scatter_single_coalesced", shared=1, reduces=True
    ),
    "alltoall": Operation(name="all_to_all", shared=1, is_free=True),
    "alltoall_base": Operation(name="all_to_all_single", shared=1, splits=(2, 3)),
    "all_to_all_single": Operation(name="all_to_all_single", shared=1, splits=(2, 3)),
    "gather": Operation(name="gather", shared=1, is_rooted=True),
    "scatter": Operation(name="scatter", shared=0, is_rooted=True),
    "barrier": Operation(name="barrier"),
    "monitored_barrier": Operation(name="monitored_barrier"),
    "send": Operation(name="send", is_compared=False),
    "recv": Operation(name="recv", is_compared=False),
    "recv_anysource": Operation(name="recv_anysource", is_compared=False),
}


_MAX_KNOWN = 4096


class Describer:
    """Makes fingerprints; remembers them, because steps repeat theirs."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], str] = {}

    def describe(self, operation: Operation, args: tuple[Any, ...]) -> str | None:
        """Fingerprint of a call; None for what is not compared.

        An overload with other arguments than the C++ callers use has what it can have:
        a field that is not found is `-` on every rank alike.
        """
        if not operation.is_compared:
            return None
        options = args[-1] if args else None  # the last of every C++ signature
        reduction = getattr(options, "reduceOp", None) if operation.reduces else None
        key = (
            operation.name,
            _shapes(args, operation.shared),
            None if reduction is None else getattr(reduction, "op", reduction),
            getattr(options, "rootRank", None) if operation.is_rooted else None,
            _is_free(operation, args),
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()  # shapes that never repeat
            known = self._known[key] = _text(*key)
        return known


def _text(
    name: str, shapes: tuple[Any, ...], reduction: Any, root: Any, free: bool
) -> str:
    """A fingerprint; `shapes` holds shape and dtype of each tensor in turn."""
    dtypes = dict.fromkeys(str(dtype).removeprefix("torch.") for dtype in shapes[1::2])
    texts = (str(list(shape)).replace(" ", "") for shape in shapes[::2])
    return str(
        Fingerprint(
            op=name,
            reduction=NONE if reduction is None else _reduction_name(reduction),
            dtype="+".join(dtypes) or NONE,
            shape=ANY if free else "+".join(texts) or NONE,
            root=NONE if root is None else str(root),
        )
    )


def _reduction_name(reduction: Any) -> str:
    return str(getattr(reduction, "name", reduction)).rsplit(".", 1)[-1].lower()


def _shapes(args: tuple[Any, ...], index: int | None) -> tuple[Any, ...]:
    """Shape and dtype of each tensor of an argument, in turn."""
    if index is None or index >= len(args):
        return ()
    given = args[index]
    if type(given) is list and len(given) == 1:
        given = given[0]
    if not isinstance(given, (list, tuple)):
        return (given.shape, given.dtype) if hasattr(given, "dtype") else ()
    return tuple(part for t in _flat(given) for part in (t.shape, t.dtype))


def _flat(given: Any) -> list[Any]:
    """The tensors in a tensor, a list of tensors, or a list of such lists."""
    if hasattr(given, "dtype"):
        return [given]
    if not isinstance(given, (list, tuple)):
        return []
    return [tensor for item in given for tensor in _flat(item)]


def _is_free(operation: Operation, args: tuple[Any, ...]) -> bool:
    if operation.is_free:
        return True
    for index in operation.splits:
        if index < len(args) and args[index]:
            return True
    if operation.ragged is None or operation.ragged >= len(args):
        return False
    return len({tensor.shape for tensor in _flat(args[operation.ragged])}) > 1
