"""Read and write single elements of tensors as raw bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_INT_OF_BYTES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def num_bits(tensor: torch.Tensor) -> int:
    """Bits of one element of `tensor`."""
    return 8 * tensor.element_size()


def read_bits(tensor: torch.Tensor, element: int) -> int:
    """The raw bits of one element (row-major index), as an unsigned number."""
    return int(_as_int(tensor, element).item()) & ((1 << num_bits(tensor)) - 1)


def write_bits(tensor: torch.Tensor, element: int, bits: int) -> None:
    """Set the raw bits of one element; every other element stays as it is."""
    width = num_bits(tensor)
    signed = bits - (1 << width) if bits >> (width - 1) and width > 8 else bits
    _as_int(tensor, element).fill_(signed)


def describe(tensor: torch.Tensor, element: int) -> str:
    """Bits and value of one element, such as `0x3d2f1a90 (0.0427)`."""
    digits = num_bits(tensor) // 4
    value = tensor.detach().reshape(-1)[element].item()
    return f"0x{read_bits(tensor, element):0{digits}x} ({value:.6g})"


def _as_int(tensor: torch.Tensor, element: int) -> torch.Tensor:
    import torch  # here, so that reading a scenario needs no torch

    flat = tensor.detach().view(-1)[element : element + 1]
    dtype: torch.dtype = getattr(torch, _INT_OF_BYTES[tensor.element_size()])
    return flat.view(dtype)
