"""Elements are seen as raw bits, for every width, and nothing beside them."""

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
    tensor = torch.arange(6).to(dtype)
    before = tensor.clone()
    for bit in range(bits.num_bits(tensor)):
        word = bits.word_of(1 << bit, tensor)
        bits.as_words(tensor)[4] ^= word
        assert not torch.equal(bits.as_words(tensor), bits.as_words(before))
        others = [index for index in range(6) if index != 4]
        assert torch.equal(tensor[others], before[others])
        bits.as_words(tensor)[4] ^= word
        assert torch.equal(tensor, before)


def test_a_parameter_is_written_without_autograd_noticing() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    bits.as_words(parameter)[1] = 0x40000000
    assert parameter.tolist() == [1.0, 2.0, 1.0]
    assert parameter.grad is None


def test_an_element_is_described_by_bits_and_value() -> None:
    assert bits.describe(torch.tensor([1.0]), 0) == "0x3f800000 (1)"
    assert bits.describe(torch.tensor([-2], dtype=torch.int8), 0) == "0xfe (-2)"


def test_nan_payloads_are_kept() -> None:
    tensor = torch.zeros(1)
    bits.as_words(tensor)[0] = 0x7FC00ABC
    assert bits.describe(tensor, 0) == "0x7fc00abc (nan)"
