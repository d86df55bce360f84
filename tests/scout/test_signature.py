"""`scout.signature` sees every change of bytes, dtype and shape, and changes nothing.

Where positions are drawn the seed is fixed; one miss by chance has probability 2**-64.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scout import fold
from scout.signature import (
    hex64,
    signature,
    signature_by_torch,
    signatures,
    warm_up,
)

Bytes = npt.NDArray[np.uint8]

WIDTHS = {
    torch.bool: 1,
    torch.uint8: 1,
    torch.int8: 1,
    torch.uint16: 2,
    torch.int16: 2,
    torch.uint32: 4,
    torch.int32: 4,
    torch.uint64: 8,
    torch.int64: 8,
    torch.float8_e4m3fn: 1,
    torch.float8_e4m3fnuz: 1,
    torch.float8_e5m2: 1,
    torch.float8_e5m2fnuz: 1,
    torch.float8_e8m0fnu: 1,
    torch.float4_e2m1fn_x2: 1,
    torch.float16: 2,
    torch.bfloat16: 2,
    torch.float32: 4,
    torch.float64: 8,
    torch.complex32: 4,
    torch.complex64: 8,
    torch.complex128: 16,
    torch.bits8: 1,
    torch.bits16: 2,
}
DTYPES = list(WIDTHS)
PIECE_BYTES = fold.PIECE_WORDS * 8
LANE_BYTES = PIECE_BYTES * fold.MAX_LANES


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    warm_up()


def random_bytes(count: int, seed: int = 0) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def of_bytes(data: Bytes, dtype: torch.dtype) -> torch.Tensor:
    """A tensor that shares `data`, so that a test flips bits where numpy can."""
    return torch.from_numpy(data).view(dtype)


def by_definition(tensor: torch.Tensor) -> int:
    """The drawing in `scout.fold` and `scout.signature`, in Python integers."""
    mask = (1 << 64) - 1
    data = tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    num_words = -(-len(data) // 8)
    lanes = [0] * min(512, -(-num_words // 1024))
    for i in range(num_words):
        word = int.from_bytes(data[8 * i : 8 * i + 8].ljust(8, b"\0"), "little")
        x = word ^ ((i + 1) * 0x9E3779B97F4A7C15 & mask)
        x = (x ^ x >> 32) * 0x85EBCA6B & mask
        x = (x ^ x >> 29) * 0xC2B2AE35 & mask
        lanes[i // 1024 % 512] += x ^ x >> 32
    head = f"{tensor.dtype}{tuple(tensor.shape)}".encode()
    body = b"".join((lane & mask).to_bytes(8, "little") for lane in lanes)
    return int.from_bytes(hashlib.blake2b(head + body, digest_size=8).digest(), "big")


# ---- every single change is seen


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_bit_flip_of_every_dtype_gives_another_signature(
    dtype: torch.dtype,
) -> None:
    data = random_bytes(WIDTHS[dtype] * 11)  # 11: a tail for every width below 8
    tensor = of_bytes(data, dtype)
    found = {signature(tensor)}
    for byte, bit in itertools.product(range(data.size), range(8)):
        data[byte] ^= 1 << bit
        found.add(signature(tensor))
        data[byte] ^= 1 << bit
    assert len(found) == 1 + data.size * 8


def missed_flips(
    tensor: torch.Tensor, data: Bytes, places: Sequence[tuple[tuple[int, int], ...]]
) -> int:
    """How many of the groups of (byte, bit) flips leave the signature as it was."""
    clean, missed = signature(tensor), 0
    for group in places:
        for byte, bit in group:
            data[byte] ^= 1 << bit
        missed += signature(tensor) == clean
        for byte, bit in group:
            data[byte] ^= 1 << bit
    assert signature(tensor) == clean
    return missed


def test_a_hundred_thousand_random_flips_are_all_seen() -> None:
    data = random_bytes(8 * PIECE_BYTES + 4)
    rng = random.Random(1)
    places = [((rng.randrange(data.size), rng.randrange(8)),) for _ in range(100_000)]
    assert missed_flips(of_bytes(data, torch.float32), data, places) == 0


def test_random_flips_are_seen_where_every_lane_holds_several_pieces() -> None:
    data = random_bytes(2 * LANE_BYTES + 12)
    rng = random.Random(2)
    places = [((rng.randrange(data.size), rng.randrange(8)),) for _ in range(1000)]
    assert missed_flips(of_bytes(data, torch.bfloat16), data, places) == 0


# What FACTS lists of lm-resiliency's fold: shares of positions that it does not see.
@pytest.mark.parametrize(
    ("dtype", "bit"),
    [
        pytest.param(torch.float32, 31, id="float32 sign, 48 % unseen there"),
        pytest.param(torch.float32, 30, id="float32 bit 30, 45 % unseen there"),
        pytest.param(torch.bfloat16, 15, id="bfloat16 sign, 25 % unseen there"),
        pytest.param(torch.float64, 63, id="float64 sign, 97 % unseen there"),
    ],
)
def test_top_bits_of_a_large_matrix_do_not_vanish(dtype: torch.dtype, bit: int) -> None:
    data = random_bytes(1024 * 1024 * WIDTHS[dtype])
    rng, width = random.Random(3), WIDTHS[dtype]
    places = [
        ((rng.randrange(1024 * 1024) * width + bit // 8, bit % 8),) for _ in range(500)
    ]
    tensor = of_bytes(data, dtype).view(1024, 1024)
    assert missed_flips(tensor, data, places) == 0


# ---- pairs of changes do not cancel


def sign(word: int, half: int = 1) -> tuple[int, int]:
    """Byte and bit of the float32 sign in the low (0) or high (1) half of `word`."""
    return word * 8 + half * 4 + 3, 7


CONTENTS: dict[str, Callable[[int], Bytes]] = {
    "zeros": lambda size: np.zeros(size, dtype=np.uint8),
    "ones": lambda size: np.ones(size // 4, dtype=np.float32).view(np.uint8),
    "noise": random_bytes,
}


@pytest.mark.parametrize("content", list(CONTENTS))
def test_two_sign_flips_in_one_lane_never_cancel(content: str) -> None:
    data = CONTENTS[content](1024)
    words = itertools.combinations(range(128), 2)
    places = [(sign(a), sign(b)) for a, b in words]
    assert missed_flips(of_bytes(data, torch.float32), data, places) == 0


@pytest.mark.parametrize("content", list(CONTENTS))
def test_two_sign_flips_of_neighbours_never_cancel(content: str) -> None:
    data = CONTENTS[content](4 * PIECE_BYTES)
    last = data.size // 8 - 1
    places = [(sign(word, 0), sign(word, 1)) for word in range(last)]
    places += [(sign(word, 1), sign(word + 1, 0)) for word in range(last)]
    places += [(sign(word, 1), sign(word + 1, 1)) for word in range(last)]
    assert missed_flips(of_bytes(data, torch.float32), data, places) == 0


def test_any_two_flips_at_random_places_never_cancel() -> None:
    data = random_bytes(2 * PIECE_BYTES)
    rng = random.Random(4)
    bits = [(byte, bit) for byte in range(data.size) for bit in range(8)]
    places = [tuple(rng.sample(bits, 2)) for _ in range(20_000)]
    assert missed_flips(of_bytes(data, torch.float16), data, places) == 0


def test_two_sign_flips_at_lane_distance_never_cancel() -> None:
    data = CONTENTS["ones"](2 * LANE_BYTES)
    lane_words, rng = LANE_BYTES // 8, random.Random(5)
    words = [rng.randrange(lane_words) for _ in range(400)]
    places = [(sign(word), sign(word + lane_words)) for word in words]
    assert missed_flips(of_bytes(data, torch.float32), data, places) == 0


# ---- order counts


def test_any_two_swapped_elements_are_seen() -> None:
    tensor = torch.arange(96, dtype=torch.float32)
    found = {signature(tensor)}
    for a, b in itertools.combinations(range(96), 2):
        order = torch.arange(96)
        order[a], order[b] = b, a
        found.add(signature(tensor[order]))
    assert len(found) == 1 + 96 * 95 // 2


@pytest.mark.parametrize("distance", [1, 512, 1024, 512 * 1024])
def test_words_swapped_at_a_distance_are_seen(distance: int) -> None:
    words = torch.arange(1024 * 1024 + 64, dtype=torch.int64)
    clean, rng = signature(words), random.Random(6)
    for _ in range(50):
        a = rng.randrange(words.numel() - distance)
        swapped = words.clone()
        swapped[a], swapped[a + distance] = words[a + distance], words[a]
        assert signature(swapped) != clean


@pytest.mark.parametrize("block", [1, 8, 512, 1024, 2048])
def test_permuted_blocks_are_seen(block: int) -> None:
    blocks = torch.arange(4 * block, dtype=torch.int64).view(4, block)
    orders = itertools.permutations(range(4))
    found = {signature(blocks[list(order)]) for order in orders}
    assert len(found) == 24


# ---- dtype and shape count, and the bytes decide


def test_trailing_zeros_are_seen() -> None:
    lengths = [*range(20), 1023, 1024, 1025, 8191, 8192, 8193]
    found = {signature(torch.zeros(length, dtype=torch.uint8)) for length in lengths}
    assert len(found) == len(lengths)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_the_same_bytes_of_another_dtype_are_another_signature(width: int) -> None:
    dtypes = [dtype for dtype in DTYPES if WIDTHS[dtype] == width]
    data = random_bytes(width * 6)
    assert len({signature(of_bytes(data, d)) for d in dtypes}) == len(dtypes)


def test_every_shape_of_the_same_bytes_is_another_signature() -> None:
    shapes = [(12,), (1, 12), (12, 1), (3, 4), (4, 3), (2, 6), (2, 2, 3), (3, 2, 2)]
    empty = [(0,), (0, 3), (3, 0), (0, 0)]
    found = {signature(torch.arange(12).view(shape)) for shape in shapes}
    found |= {signature(torch.empty(shape, dtype=torch.int64)) for shape in empty}
    found.add(signature(torch.tensor(0)))
    found.add(signature(torch.tensor([0])))
    assert len(found) == len(shapes) + len(empty) + 2


def test_zeros_of_either_sign_differ() -> None:
    assert signature(torch.tensor([0.0])) != signature(torch.tensor([-0.0]))


def test_nans_differ_by_payload_and_equal_nans_agree() -> None:
    quiet = torch.tensor([0x7FC00000, 0x7FC00001, -0x400000], dtype=torch.int32)
    nans = quiet.view(torch.float32)
    assert nans.isnan().all()
    assert len({signature(nan) for nan in nans}) == 3
    assert signature(nans) == signature(nans.clone())


# ---- one value, however it is laid out and whoever computes it


@st.composite
def laid_out_tensors(draw: st.DrawFn) -> torch.Tensor:
    """Any dtype, 0 to 3 dims, offset, strides, order of dims and byte values."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 5), max_size=3))
    steps = [draw(st.integers(1, 3)) for _ in shape]
    full = [size * step for size, step in zip(shape, steps, strict=True)]
    first = draw(st.integers(0, 9))
    count = first + math.prod(full) + 1  # one too many: no view of an empty array
    data = random_bytes(count * WIDTHS[dtype], draw(st.integers(0, 99)))
    tensor = of_bytes(data, dtype)[first : count - 1].view(full)
    view = tensor[tuple(slice(None, None, step) for step in steps)]
    return view.permute(draw(st.permutations(range(view.dim()))))


@settings(max_examples=300, deadline=None)
@given(laid_out_tensors())
def test_strides_and_offsets_do_not_count(tensor: torch.Tensor) -> None:
    same_width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    plain = tensor.view(same_width.get(tensor.element_size(), torch.complex128))
    copy = plain.clone(memory_format=torch.contiguous_format).view(tensor.dtype)
    assert signature(tensor) == signature(copy) == by_definition(copy)


@settings(max_examples=300, deadline=None)
@given(laid_out_tensors())
def test_numba_and_torch_give_the_same_signature(tensor: torch.Tensor) -> None:
    assert signature(tensor) == signature_by_torch(tensor)


@pytest.mark.parametrize(
    "size",
    [
        *(edge + off for edge in (8, PIECE_BYTES, 16 * PIECE_BYTES) for off in (-1, 1)),
        *(128 * PIECE_BYTES + off for off in (-9, 0, 3)),
        *(LANE_BYTES + off for off in (-PIECE_BYTES - 1, -1, 0, 1, 9)),
        3 * LANE_BYTES + PIECE_BYTES + 5,
    ],
)
def test_numba_and_torch_agree_around_the_edges_of_pieces_and_lanes(size: int) -> None:
    tensor = torch.from_numpy(random_bytes(size + 1))[1:]  # unaligned too
    assert signature(tensor) == signature_by_torch(tensor)


def test_the_chunk_size_for_accelerators_gives_the_same_signature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = torch.from_numpy(random_bytes(LANE_BYTES * 5 // 2 + 5))
    monkeypatch.setattr(fold, "_CHUNK_PIECES_CPU", fold._CHUNK_PIECES_ELSEWHERE)
    assert signature_by_torch(tensor) == signature(tensor)


def test_a_tensor_over_several_lanes_follows_the_definition() -> None:
    tensor = torch.from_numpy(random_bytes(3 * PIECE_BYTES + 13))
    assert signature(tensor) == by_definition(tensor)


def test_conjugate_and_negative_views_count_as_the_values_they_show() -> None:
    tensor = torch.complex(torch.arange(6.0), torch.arange(1.0, 7.0))
    assert signature(tensor.conj()) == signature(tensor.conj().resolve_conj())
    assert signature(tensor.conj()) != signature(tensor)
    negative = tensor.conj().imag
    assert negative.is_neg()
    assert signature(negative) == signature(negative.resolve_neg().contiguous())


def test_parameters_and_expanded_and_inference_tensors_have_signatures() -> None:
    ones = torch.ones(2, 3)
    with torch.inference_mode():
        inference = torch.ones(2, 3)
    variants = [
        torch.nn.Parameter(ones),
        torch.ones(2, 3, requires_grad=True) * 1,
        torch.ones(1, 1).expand(2, 3),
        inference,
    ]
    assert signatures(variants) == [signature(ones)] * 4
    assert [signature_by_torch(t) for t in variants] == [signature(ones)] * 4


# ---- refusals


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: torch.eye(3).to_sparse(), ValueError, "torch.sparse_coo"),
        (lambda: torch.eye(3, device="meta"), ValueError, "device meta"),
        (lambda: [1.0], TypeError, "a list"),
        (lambda: freed(), ValueError, "freed storage"),
        (lambda: fake(), TypeError, "a FakeTensor"),
    ],
)
def test_a_tensor_without_dense_bytes_is_refused_by_name(
    make: Any, error: type[Exception], says: str
) -> None:
    tensor = make()
    with pytest.raises(error, match=f"{says}.*; allowed|{says}.*allowed"):
        signature(tensor)


def freed() -> torch.Tensor:
    tensor = torch.ones(4, 5).t()
    tensor.untyped_storage().resize_(0)
    return tensor


def fake() -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3)


@pytest.mark.filterwarnings("ignore:.*quantize:UserWarning")
def test_a_quantized_tensor_is_refused_by_name() -> None:
    tensor = torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.quint8)
    with pytest.raises(ValueError, match=r"quint8; allowed"):
        signature(tensor)


def test_hex64_is_sixteen_digits_and_refuses_other_widths() -> None:
    assert hex64(255) == "00000000000000ff"
    assert hex64((1 << 64) - 1) == "f" * 16
    for value in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"value is {value}; allowed: 0 to"):
            hex64(value)


# ---- nothing else changes


def test_a_signature_changes_neither_tensor_nor_torch_nor_random_streams() -> None:
    tensor = torch.arange(5.0).requires_grad_()
    before = (tensor.detach().clone(), tensor._version, torch.get_rng_state())
    switches = (
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_default_dtype(),
    )
    numpy_state = np.random.get_state()[1].copy()  # type: ignore[index]
    python_state = random.getstate()
    signature(tensor)
    signature_by_torch(tensor)
    assert torch.equal(tensor, before[0])
    assert tensor._version == before[1]
    assert tensor.grad is None
    assert torch.equal(torch.get_rng_state(), before[2])
    assert switches == (
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_default_dtype(),
    )
    assert (np.random.get_state()[1] == numpy_state).all()  # type: ignore[index]
    assert random.getstate() == python_state


def test_nothing_is_compiled_after_warm_up() -> None:
    compiled: Any = fold.compiled_fold()
    before = list(compiled.signatures)
    read_only = np.arange(9.0)
    read_only.flags.writeable = False
    raw = torch.from_numpy(random_bytes(40))
    for tensor in (raw, raw[3:], raw[8:].view(torch.int64), torch.zeros(0)):
        signature(tensor)
    compiled(read_only.view(np.uint64), 0, np.zeros(1, dtype=np.uint64))
    assert compiled.signatures == before
    assert len(before) == 1


def test_a_cached_fold_of_another_source_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = fold.compiled_fold()

    def stale(words: fold.Words, first: int, lanes: fold.Words) -> None:
        lanes[0] = words.sum()

    monkeypatch.setattr(fold, "_compile", lambda *, cache: stale if cache else good)
    assert fold.compiled_fold.__wrapped__() is good


def test_without_a_folder_for_the_cache_the_fold_is_still_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = fold.compiled_fold()

    def compile_fold(*, cache: bool) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return good

    monkeypatch.setattr(fold, "_compile", compile_fold)
    assert fold.compiled_fold.__wrapped__() is good


def test_importing_scout_imports_neither_torch_nor_numba() -> None:
    code = "import sys, scout; print({'torch', 'numba'} & set(sys.modules))"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "set()\n"
