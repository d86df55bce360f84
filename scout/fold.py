"""Fold bytes to at most 512 lanes of 64 bits, on the bytes' device (SCOUT sec. 5.2).

Called by `signature`, which adds dtype and shape. Never changes the bytes or any global
state of torch.

    words w[i], i = 0, 1, ...  (8 bytes each, native order, the last padded with zeros)
      | x[i] = mix(w[i] xor (i + 1) * STEP)
    lanes L[j] = sum of x[i] over the pieces of 1024 words whose number is j modulo 512

`mix` is a bijection, so a change inside one word always changes its lane. It shifts,
xors and multiplies twice. With less, a flipped bit changes x by one of few values, and
two flips in one lane can cancel: half the time for sign bits without the first shift,
and after one multiplication 7 % of a million sign flips share their difference with
another; after two, none does.
The fold exists twice with the same value: `fold_on_cpu`, one pass compiled by numba,
and `fold_by_torch`, cache-sized chunks of torch operations, for every device.

Limits: not a defence against an adversary, who can choose words that cancel.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

Words = npt.NDArray[np.uint64]

MAX_LANES = 512  # SCOUT sec. 9: at most 512 64-bit values leave the device
PIECE_WORDS = 1024

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, as in SplitMix64
# Odd, so that the product is a bijection; 32 bits, so that AVX2, which has no 64-bit
# product, needs two of its own, not three. They are those of MurmurHash3's fmix32.
FACTOR_1, FACTOR_2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(32), np.uint64(29), np.uint64(32)

_ZERO = np.uint64(0)
# Chunks of 1 MiB, with a key and a scratch buffer beside them, stay in a CPU's cache;
# an accelerator wants fewer, larger launches. Both divide MAX_LANES, and the value does
# not depend on them.
_CHUNK_PIECES_CPU, _CHUNK_PIECES_ELSEWHERE = 128, 512


def fold_on_cpu(raw: torch.Tensor) -> Words:
    """The lanes of bytes `raw`, shape (nbytes,) uint8 on the CPU, in one pass."""
    data = raw.numpy()
    num_tail = data.size % 8
    lanes = np.zeros(_num_lanes(data.size), dtype=np.uint64)
    fold = compiled_fold()
    fold(data[: data.size - num_tail].view(np.uint64), 0, lanes)
    if num_tail:
        tail = np.zeros(8, dtype=np.uint8)
        tail[:num_tail] = data[data.size - num_tail :]
        fold(tail.view(np.uint64), data.size // 8, lanes)
    return lanes


def fold_by_torch(raw: torch.Tensor) -> torch.Tensor:
    """The lanes of bytes `raw`, shape (nbytes,) uint8, as int64 on its device."""
    num_whole = raw.numel() // 8
    lanes = torch.zeros(_num_lanes(raw.numel()), dtype=torch.int64, device=raw.device)
    if num_whole:
        whole = raw[: num_whole * 8]
        if whole.data_ptr() % 8 or whole.storage_offset() % 8:
            whole = whole.clone()  # torch reinterprets aligned bytes only
        _fold_chunks(whole.view(torch.int64), 0, lanes)
    if raw.numel() % 8:
        tail = torch.zeros(8, dtype=torch.uint8, device=raw.device)
        tail[: raw.numel() % 8] = raw[num_whole * 8 :]
        _fold_chunks(tail.view(torch.int64), num_whole, lanes)
    return lanes


@functools.cache
def compiled_fold() -> Callable[[Words, int, Words], None]:
    """`fold_words` by numba, from its cache where there is a valid one."""
    from numba.extending import register_jitable

    register_jitable(mix)
    try:
        fold = _compile(cache=True)
        if _agrees_with_torch(fold):
            return fold
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError):
        # numba may write neither beside this file nor in the home, or its file is torn.
        pass
    return _compile(cache=False)


def fold_words(words: Words, first: int, lanes: Words) -> None:
    """Add `words`, the first of index `first`, to `lanes`; numba compiles this.

    Args:
        words: shape (n,), read-only and unaligned allowed.
        first: a multiple of `PIECE_WORDS` unless `words` is a single word.
        lanes: shape (m,), m at least min(MAX_LANES, number of pieces).
    """
    # Two streams half a tensor apart: one does not keep the memory busy.
    num_paired = words.size // (2 * PIECE_WORDS)
    far_start = num_paired * PIECE_WORDS
    key = np.uint64(first) * STEP
    far_key = np.uint64(first + far_start) * STEP
    for start in range(0, far_start, PIECE_WORDS):
        near = words[start : start + PIECE_WORDS]
        far = words[far_start + start : far_start + start + PIECE_WORDS]
        near_total, far_total = _ZERO, _ZERO
        for i in range(PIECE_WORDS):
            key += STEP
            far_key += STEP
            near_total += mix(near[i] ^ key)
            far_total += mix(far[i] ^ far_key)
        lanes[(first + start) // PIECE_WORDS % MAX_LANES] += near_total
        lanes[(first + far_start + start) // PIECE_WORDS % MAX_LANES] += far_total
    for start in range(2 * far_start, words.size, PIECE_WORDS):
        piece = words[start : start + PIECE_WORDS]
        total = _ZERO
        for i in range(piece.size):
            far_key += STEP
            total += mix(piece[i] ^ far_key)
        lanes[(first + start) // PIECE_WORDS % MAX_LANES] += total


def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64 bits; `fold_words` calls it."""
    x = (x ^ (x >> SHIFT_1)) * FACTOR_1
    x = (x ^ (x >> SHIFT_2)) * FACTOR_2
    return x ^ (x >> SHIFT_3)


def _fold_chunks(words: torch.Tensor, first: int, lanes: torch.Tensor) -> None:
    """`fold_words` in torch: int64 wraps like uint64 in xor, sum and product."""
    pieces = _CHUNK_PIECES_CPU if words.is_cpu else _CHUNK_PIECES_ELSEWHERE
    chunk_words = min(pieces * PIECE_WORDS, words.numel())
    keys = torch.arange(1, chunk_words + 1, dtype=torch.int64, device=words.device)
    keys.add_(first).mul_(_signed(STEP))
    x, shifted = torch.empty_like(keys), torch.empty_like(keys)
    for start in range(0, words.numel(), chunk_words):
        chunk = words[start : start + chunk_words]
        x, shifted = x[: chunk.numel()], shifted[: chunk.numel()]
        torch.bitwise_xor(chunk, keys[: chunk.numel()], out=x)
        for shift, factor in ((SHIFT_1, FACTOR_1), (SHIFT_2, FACTOR_2)):
            _xor_shifted(x, shifted, int(shift)).mul_(_signed(factor))
        _xor_shifted(x, shifted, int(SHIFT_3))
        lane = (first + start) // PIECE_WORDS % MAX_LANES
        num_full = chunk.numel() // PIECE_WORDS
        full = x[: num_full * PIECE_WORDS].view(num_full, PIECE_WORDS)
        lanes[lane : lane + num_full] += full.sum(dim=1)
        if chunk.numel() % PIECE_WORDS:
            lanes[lane + num_full] += x[num_full * PIECE_WORDS :].sum()
        keys.add_(_signed(np.uint64(chunk_words * int(STEP) % (1 << 64))))


def _xor_shifted(x: torch.Tensor, scratch: torch.Tensor, shift: int) -> torch.Tensor:
    """x ^= x >> shift without sign extension, which int64's own shift would add."""
    torch.bitwise_right_shift(x, shift, out=scratch)
    scratch.bitwise_and_((1 << (64 - shift)) - 1)
    return x.bitwise_xor_(scratch)


def _signed(value: np.uint64) -> int:
    return int(value.astype(np.int64))


def _num_lanes(num_bytes: int) -> int:
    return min(MAX_LANES, -(-num_bytes // (8 * PIECE_WORDS)))


def _compile(*, cache: bool) -> Callable[[Words, int, Words], None]:
    import numba

    # Unaligned and read-only arrays: others convert to them, so nothing compiles later.
    words = numba.types.Array(numba.uint64, 1, "C", readonly=True, aligned=False)
    lanes = numba.types.Array(numba.uint64, 1, "C")
    declared = [numba.void(words, numba.int64, lanes)]
    fold: Callable[[Words, int, Words], None]
    fold = numba.njit(declared, nogil=True, cache=cache)(fold_words)
    return fold


def _agrees_with_torch(fold: Callable[[Words, int, Words], None]) -> bool:
    """Whether a cached fold is of this source: numba looks at time and size alone."""
    raw = torch.arange(24, dtype=torch.uint8, device="cpu")
    lanes = np.zeros(1, dtype=np.uint64)
    fold(raw.numpy().view(np.uint64), 0, lanes)
    return bool((fold_by_torch(raw).numpy().view(np.uint64) == lanes).all())
