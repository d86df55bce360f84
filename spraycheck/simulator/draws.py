"""Random numbers by position instead of by turn (SplitMix64, Steele et al. 2014).

A draw is a pure function of (seed, flow, transmission, purpose), so the same seed gives
the same packets on every machine, in both kernels, whatever order events come in.
Called by the kernels; numba's own generator is never touched.
"""

from __future__ import annotations

import numpy as np

from spraycheck.simulator.jit import kernel, part

# What a draw of one transmission is for.
SPRAY, LOSE_UP, LOSE_DOWN, PACE, MARK, TIE = range(6)
_PURPOSES = 8

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_11, _32 = np.uint64(11), np.uint64(32)


@part
def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64 bits whose outputs look independent."""
    x = (x ^ (x >> _30)) * _FACTOR_1
    x = (x ^ (x >> _27)) * _FACTOR_2
    return x ^ (x >> _31)


@kernel
def key_of(seed: np.uint64, number: int) -> np.uint64:
    """The key of flow or link number `number`."""
    return mix(mix(seed + _GOLDEN) + np.uint64(number + 1) * _GOLDEN)


@part
def draw(key: np.uint64, index: int, purpose: int) -> np.uint64:
    """64 random bits for transmission `index` of the flow with this key."""
    return mix(key + np.uint64(index * _PURPOSES + purpose) * _GOLDEN)


@part
def fraction(bits: np.uint64) -> float:
    """Uniform in [0, 1), 53 bits."""
    return np.float64(bits >> _11) * 1.1102230246251565e-16


@part
def below(bits: np.uint64, bound: int) -> int:
    """Uniform in 0 .. bound - 1 from the lower 32 bits; bias below bound / 2^32."""
    low = bits & np.uint64(0xFFFFFFFF)
    return int(np.int64((low * np.uint64(bound)) >> _32))
