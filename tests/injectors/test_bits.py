"""Raw bits of single elements, for every width, and nothing beside them."""

from __future__ import annotations

import pytest
import torch

from injectors import bits

DTYPES = [
    torch.float32, torch.float64, torch.bfloat16, torch.float16,
    torch.int8, torch.uint8, torch.int64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_bit_flips_and_comes_back(dtype: torch.dtype) -> None:
    tensor = torch.arange(6).reshape(2, 3).to(dtype)
    before = tensor.clone()
    width = bits.num_bits(tensor)
    for bit in range(width):
        healthy = bits.read_bits(tensor, 4)
        bits.write_bits(tensor, 4, healthy ^ (1 << bit))
        assert bits.read_bits(tensor, 4) == healthy ^ (1 << bit)
        others = [index for index in range(6) if index != 4]
        assert torch.equal(tensor.view(-1)[others], before.view(-1)[others])
        bits.write_bits(tensor, 4, healthy)
        assert torch.equal(tensor, before)


def test_a_parameter_is_written_without_autograd_noticing() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    bits.write_bits(parameter, 1, 0x40000000)
    assert parameter.tolist() == [1.0, 2.0, 1.0]
    assert parameter.grad is None


def test_an_element_is_described_by_bits_and_value() -> None:
    assert bits.describe(torch.tensor([1.0]), 0) == "0x3f800000 (1)"
    assert bits.describe(torch.tensor([-2], dtype=torch.int8), 0) == "0xfe (-2)"


def test_nan_payloads_are_kept() -> None:
    tensor = torch.zeros(1)
    bits.write_bits(tensor, 0, 0x7FC00ABC)
    assert bits.read_bits(tensor, 0) == 0x7FC00ABC
