"""See the elements of tensors as raw bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_INT_OF_BYTES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def num_bits(tensor: torch.Tensor) -> int:
    """Bits of one element of `tensor`."""
    return 8 * tensor.element_size()


def as_words(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers of the same width; writing to them changes bits."""
    import torch  # here, so that reading a scenario needs no torch

    dtype: torch.dtype = getattr(torch, _INT_OF_BYTES[tensor.element_size()])
    return tensor.detach().view(dtype)


def word_of(mask: int, tensor: torch.Tensor) -> int:
    """An unsigned mask as a number that `as_words(tensor)` can hold."""
    width = num_bits(tensor)
    return mask - (1 << width) if mask >> (width - 1) and width > 8 else mask


def describe(values: torch.Tensor, index: int) -> str:
    """Bits and value of one element of a 1-d tensor, such as `0x3d2f1a90 (0.0427)`."""
    bits = int(as_words(values)[index].item()) & ((1 << num_bits(values)) - 1)
    digits = num_bits(values) // 4
    return f"0x{bits:0{digits}x} ({values.detach()[index].item():.6g})"
