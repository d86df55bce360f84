"""Bootstrap intervals of what has no closed form: quantiles and ratios of sums. Pure.

Called by `harness.qualification`. The percentile bootstrap (Efron 1979) draws cases
with replacement and takes the middle of what comes out. It says nothing of one case,
and little of few: the count stands beside every interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vocab.intervals import CONFIDENCE

NUM_DRAWS = 2_000
SEED = 20_261_201  # one fixed seed: the same cases give the same interval anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval; None where too little was measured to say."""

    n: int
    value: float | None
    low: float | None
    high: float | None
    confidence: float = CONFIDENCE


def quantile(
    values: Sequence[float], q: float, confidence: float = CONFIDENCE
) -> Estimate:
    """The `q` quantile (linear between neighbours) of `values`, in any order.

    Raises:
        ValueError: q or the confidence lies outside 0..1.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q is {q}; allowed: 0 to 1")
    if not values:
        return Estimate(n=0, value=None, low=None, high=None)
    # Sorted, so that the interval does not depend on the order of the cases.
    found = np.sort(np.asarray(values, dtype=np.float64))
    drawn = np.quantile(found[_draws(len(found))], q, axis=1)
    return _estimate(len(found), float(np.quantile(found, q)), drawn, confidence)


def ratio(
    parts: Sequence[float], wholes: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Sum of `parts` over sum of `wholes`, pair by pair from the same cases.

    Raises:
        ValueError: not as many parts as wholes, or a whole that is not positive.
    """
    if len(parts) != len(wholes) or any(not whole > 0 for whole in wholes):
        raise ValueError(
            f"{len(parts)} parts and {len(wholes)} wholes; allowed: pairs, with every "
            "whole above 0"
        )
    if not parts:
        return Estimate(n=0, value=None, low=None, high=None)
    pairs = np.asarray(sorted(zip(parts, wholes, strict=True)), dtype=np.float64)
    sums = pairs[_draws(len(pairs))].sum(axis=1)  # draws x 2
    value = float(pairs[:, 0].sum() / pairs[:, 1].sum())
    return _estimate(len(pairs), value, sums[:, 0] / sums[:, 1], confidence)


def _draws(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.random.default_rng(SEED).integers(n, size=(NUM_DRAWS, n))


def _estimate(
    n: int, value: float, drawn: np.ndarray[tuple[int], np.dtype[np.float64]],
    confidence: float,
) -> Estimate:  # fmt: skip
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; allowed: above 0, below 1")
    if n == 1:  # every draw is the same case: no interval, rather than a width of 0
        return Estimate(n=1, value=value, low=None, high=None, confidence=confidence)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return Estimate(n=n, value=value, low=float(low), high=float(high),
                    confidence=confidence)  # fmt: skip
