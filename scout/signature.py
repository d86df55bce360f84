"""Turn a tensor into a 64-bit signature of dtype, shape and bytes (SCOUT sec. 5.2).

Called by `replay` for every surface that peers compare. Never changes the tensor, global
state of torch, RNG streams or thread counts; moves at most 4 KiB off the device.

    words w[i], i = 0, 1, ...  (8 bytes each, native order, the last padded with zeros)
      | x[i] = mix(w[i] xor (i + 1) * STEP)         on the tensor's device
    lanes L[j] = sum of x[i] over the pieces of 1024 words whose number is j modulo 512
      | BLAKE2b(dtype, shape, L)                    on the CPU, 64 bits
    signature

`mix` is a bijection, so a change inside one word always changes its lane. It shifts,
xors and multiplies twice: after a single multiplication a flipped sign bit would differ
by one of two values, +c and -c, and two flips in one lane would cancel half the time.
The fold exists twice and gives the same lanes: `fold_words`, one pass by numba, for CPU
tensors; `fold_by_torch`, in cache-sized chunks of torch operations, for every device.

Limits: not a defence against an adversary, who can choose words that cancel. Peers of
different byte order disagree.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import torch

Words = npt.NDArray[np.uint64]

MAX_LANES = 512  # SCOUT sec. 9: at most 512 64-bit values leave the device
PIECE_WORDS = 1024

# The golden-ratio step of SplitMix64; shifts and odd factors of Stafford's "Mix13".
STEP = np.uint64(0x9E3779B97F4A7C15)
FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
FACTOR_2 = np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)

_ZERO = np.uint64(0)
# Chunks of 1 MiB, with a key and a scratch buffer beside them, stay in a CPU's cache;
# an accelerator wants fewer, larger launches. Both divide MAX_LANES, and the value does
# not depend on them.
_CHUNK_PIECES_CPU, _CHUNK_PIECES_ELSEWHERE = 128, 512
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
    signature(torch.zeros(3, dtype=torch.uint8))


def fold_words(words: Words, first: int, lanes: Words) -> None:
    """Add `words`, the first of index `first`, to `lanes`; numba compiles this.

    Args:
        words: shape (n,), read-only and unaligned allowed.
        first: a multiple of `PIECE_WORDS` unless `words` is a single word.
        lanes: shape (m,), m at least min(MAX_LANES, number of pieces).
    """
    key = np.uint64(first) * STEP
    for start in range(0, words.size, PIECE_WORDS):
        piece = words[start : start + PIECE_WORDS]
        total = _ZERO
        for i in range(piece.size):
            key += STEP
            x = piece[i] ^ key
            x = (x ^ (x >> SHIFT_1)) * FACTOR_1
            x = (x ^ (x >> SHIFT_2)) * FACTOR_2
            total += x ^ (x >> SHIFT_3)
        lanes[(first + start) // PIECE_WORDS % MAX_LANES] += total


def fold_by_torch(raw: torch.Tensor) -> torch.Tensor:
    """The lanes of bytes `raw`, shape (nbytes,) uint8, as int64 on its device."""
    num_whole = raw.numel() // 8
    lanes = torch.zeros(_num_lanes(raw.numel()), dtype=torch.int64, device=raw.device)
    if num_whole:
        whole = raw[: num_whole * 8]
        if whole.data_ptr() % 8:  # torch reinterprets aligned bytes only
            whole = whole.clone()
        _fold_chunks(whole.view(torch.int64), 0, lanes)
    if raw.numel() % 8:
        tail = torch.zeros(8, dtype=torch.uint8, device=raw.device)
        tail[: raw.numel() % 8] = raw[num_whole * 8 :]
        _fold_chunks(tail.view(torch.int64), num_whole, lanes)
    return lanes


def _fold_chunks(words: torch.Tensor, first: int, lanes: torch.Tensor) -> None:
    """`fold_words` in torch: int64 wraps like uint64 in xor, sum and product."""
    on_cpu = words.device.type == "cpu"
    pieces = _CHUNK_PIECES_CPU if on_cpu else _CHUNK_PIECES_ELSEWHERE
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


def _lanes(tensor: torch.Tensor) -> Words | torch.Tensor:
    raw = _raw_bytes(tensor)
    if raw.device.type != "cpu":
        return fold_by_torch(raw)
    data = raw.numpy()
    num_tail = data.size % 8
    lanes = np.zeros(_num_lanes(data.size), dtype=np.uint64)
    fold = _compiled_fold()
    fold(data[: data.size - num_tail].view(np.uint64), 0, lanes)
    if num_tail:
        tail = np.zeros(8, dtype=np.uint8)
        tail[:num_tail] = data[data.size - num_tail :]
        fold(tail.view(np.uint64), data.size // 8, lanes)
    return lanes


def _finish(tensor: torch.Tensor, lanes: Words | torch.Tensor) -> int:
    values = lanes.cpu().numpy() if isinstance(lanes, torch.Tensor) else lanes
    digest = hashlib.blake2b(
        f"{tensor.dtype}{tuple(tensor.shape)}".encode(), digest_size=8
    )
    digest.update(values.data)
    return int.from_bytes(digest.digest(), "big")


def _raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes in logical order, shape (nbytes,) uint8; a view where it can be."""
    _check(tensor)
    plain = tensor.detach().resolve_conj().resolve_neg()
    if not plain.is_contiguous():
        plain = plain.view(_COPYABLE[plain.element_size()]).contiguous()
    return plain.view(-1).view(torch.uint8)


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


@functools.cache
def _compiled_fold() -> Callable[[Words, int, Words], None]:
    """`fold_words` by numba, from its cache where there is a valid one."""
    try:
        fold = _compile(cache=True)
        if _agrees_with_torch(fold):
            return fold
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError):
        # numba may write neither beside this file nor in the home, or its file is torn.
        pass
    return _compile(cache=False)


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
    raw = torch.arange(24, dtype=torch.uint8)
    lanes = np.zeros(1, dtype=np.uint64)
    fold(raw.numpy().view(np.uint64), 0, lanes)
    return bool((fold_by_torch(raw).numpy().view(np.uint64) == lanes).all())
