"""How fast the tensor signature is, one thread (SCOUT sec. 5.2; FACTS "Its signature").

Run by `registry`. Compares with a sum of the same tensor, which reads it once, and with
lm-resiliency's signature where the extra `peers` is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.claim import Claim, compared
from benchmarks.interleaved import median_seconds

if TYPE_CHECKING:
    import torch

MIB = 1 << 20
TINY_ELEMENTS = 16
_PEER = "lm-resiliency 0.2.0 _compute_tensor_signature"


def claims(size_bytes: int = 64 * MIB, rounds: int = 15) -> Iterator[Claim]:
    """The claims of issue 2, for a float32 tensor of `size_bytes` and a tiny one."""
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        large = torch.linspace(-1, 1, size_bytes // 4)
        tiny = torch.linspace(-1, 1, TINY_ELEMENTS)
        yield from _of_large(large, rounds)
        yield from _of_tiny(tiny, rounds)
    finally:
        torch.set_num_threads(num_threads)


def _of_large(tensor: torch.Tensor, rounds: int) -> Iterator[Claim]:
    from scout.signature import signature, signature_by_torch

    peer, why_not = _peer_signature()
    functions: dict[str, Callable[[], object]] = {
        "signature": partial(signature, tensor),
        "sum": tensor.sum,
        "torch twin": partial(signature_by_torch, tensor),
    }
    if peer is not None:
        functions["peer"] = partial(peer, tensor)
    seconds = median_seconds(functions, rounds=rounds)
    gib = tensor.numel() * tensor.element_size() / (1 << 30)
    speed = {name: gib / value for name, value in seconds.items()}
    size = f"{gib * 1024:g} MiB"
    yield compared(
        name=f"signature of {size} float32 against tensor.sum()",
        value=speed["signature"],
        unit="GiB/s",
        baseline=speed["sum"],
        note="baseline: torch.Tensor.sum, one thread",
        at_least=0.3,
    )
    yield compared(
        name=f"signature of {size} float32 against lm-resiliency",
        value=speed["signature"],
        unit="GiB/s",
        baseline=speed.get("peer"),
        note=why_not or f"baseline: {_PEER}, one thread",
        at_least=10,
    )
    yield compared(
        name=f"torch twin of the signature, {size} float32 on the CPU",
        value=speed["torch twin"],
        unit="GiB/s",
        baseline=speed["sum"],
        note="baseline: torch.Tensor.sum, one thread; the twin is for accelerators, "
        "where it is not measured",
    )


def _of_tiny(tensor: torch.Tensor, rounds: int) -> Iterator[Claim]:
    from scout.signature import signature

    peer, why_not = _peer_signature()
    functions: dict[str, Callable[[], object]] = {
        "signature": partial(signature, tensor)
    }
    if peer is not None:
        functions["peer"] = partial(peer, tensor)
    seconds = median_seconds(functions, rounds=rounds, calls=200)
    yield compared(
        name=f"time of the signature of {tensor.numel()} float32 elements",
        value=seconds["signature"] * 1e6,
        unit="us",
        baseline=seconds["peer"] * 1e6 if peer is not None else None,
        note=why_not or f"baseline: {_PEER}",
    )


def _peer_signature() -> tuple[Callable[[torch.Tensor], int] | None, str]:
    """lm-resiliency's signature function and "", or None and why it is not there."""
    try:
        from lm_resiliency.detection.c3 import _compute_tensor_signature
    except ImportError as error:
        return None, f"not measured: {error}; install the extra `peers`"
    function: Callable[[torch.Tensor], int] = _compute_tensor_signature
    return function, ""
