"""Turn a tensor into a 64-bit signature of dtype, shape and bytes (SCOUT sec. 5.2).

Called by `replay` for every surface that peers compare. Never changes the tensor, RNG
streams, thread counts or global state of torch; moves at most 4 KiB off the device.

    bytes ─ fold, on the tensor's device ─► lanes
    BLAKE2b(dtype, shape, lanes), on the CPU ─► 64 bits

Peers of different byte order disagree.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable

import torch

from scout.fold import Words, fold_by_torch, fold_on_cpu

# A view of the same width makes any dtype copyable, also those without a copy kernel.
_COPYABLE = {
    1: torch.uint8,
    2: torch.int16,
    4: torch.int32,
    8: torch.int64,
    16: torch.complex128,
}


def signature(tensor: torch.Tensor) -> int:
    """The signature of `tensor`, an unsigned 64-bit number; bytes decide, not values.

    Any strides, offset, dense dtype and device. A tensor that is not contiguous is
    copied first. -0.0 and 0.0 differ, as do NaNs with different payloads.

    Raises:
        TypeError: not a tensor, or a subclass without bytes of its own (DTensor).
        ValueError: no dense bytes to read: sparse, nested, quantized, meta, freed.
    """
    return _finish(tensor, _lanes(tensor))


def signatures(tensors: Iterable[torch.Tensor]) -> list[int]:
    """`signature` of each; all folds are launched before the first is awaited."""
    pending = [(tensor, _lanes(tensor)) for tensor in tensors]
    return [_finish(tensor, lanes) for tensor, lanes in pending]


def signature_by_torch(tensor: torch.Tensor) -> int:
    """The same number by `fold_by_torch` on any device: the twin that tests compare."""
    return _finish(tensor, fold_by_torch(_raw_bytes(tensor)))


def hex64(value: int) -> str:
    """`value` as the 16 hexadecimal digits that events, logs and pages show.

    Raises:
        ValueError: `value` does not fit 64 unsigned bits.
    """
    if not 0 <= value < 1 << 64:
        raise ValueError(f"value is {value}; allowed: 0 to 2**64 - 1")
    return f"{value:016x}"


def warm_up() -> None:
    """Compile the CPU fold, or load it from numba's cache; call it before forking."""
    signature(torch.zeros(3, dtype=torch.uint8, device="cpu"))


def _lanes(tensor: torch.Tensor) -> Words | torch.Tensor:
    raw = _raw_bytes(tensor)
    return fold_on_cpu(raw) if raw.is_cpu else fold_by_torch(raw)


def _finish(tensor: torch.Tensor, lanes: Words | torch.Tensor) -> int:
    values = lanes.cpu().numpy() if isinstance(lanes, torch.Tensor) else lanes
    whole = _header(tensor.dtype, tensor.shape) + values.tobytes()
    return int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "big")


@functools.lru_cache(maxsize=4096)
def _header(dtype: torch.dtype, shape: torch.Size) -> bytes:
    return f"{dtype}{tuple(shape)}".encode()


def _raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes in logical order, shape (nbytes,) uint8; a view where it can be."""
    _check(tensor)
    plain = tensor.detach() if tensor.requires_grad else tensor
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    if not plain.is_contiguous():
        plain = plain.view(_COPYABLE[plain.element_size()]).contiguous()
    # Not view(-1): it keeps odd strides of empty and one-element tensors.
    return plain.as_strided((plain.numel(),), (1,)).view(torch.uint8)


def _check(tensor: torch.Tensor) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor is a {type(tensor).__name__}; allowed: torch.Tensor")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(
            f"tensor is a {type(tensor).__name__}, which has no bytes of its own; "
            "allowed: a plain tensor, such as DTensor.to_local()"
        )
    if tensor.layout != torch.strided or tensor.is_nested:
        raise ValueError(
            f"tensor has layout {tensor.layout}, nested {tensor.is_nested}; "
            "allowed: torch.strided, not nested (take its values and indices)"
        )
    if tensor.is_quantized:
        raise ValueError(
            f"tensor has dtype {tensor.dtype}; allowed: dtypes without a quantizer "
            "(take int_repr())"
        )
    if tensor.is_meta:
        raise ValueError("tensor is on device meta; allowed: devices with storage")
    if tensor.data_ptr() == 0 and tensor.numel():
        # FSDP frees parameters so; reading them would end the process.
        raise ValueError("tensor has a freed storage; allowed: storage in memory")
