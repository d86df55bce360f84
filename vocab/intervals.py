"""Confidence intervals for rates that were counted. Pure.

Called by `harness.campaign_summary`, `harness.qualification` and
`spraycheck.calibrate`. Symbols: k successes of n trials, z the normal quantile of the
confidence level; k events in an exposure of so many hours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """`k` of `n`, with the interval that holds the true rate at `confidence`."""

    k: int
    n: int
    value: float | None  # None: nothing was counted; never printed as 0
    low: float | None
    high: float | None
    confidence: float


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> Rate:
    """The Wilson score interval (Wilson 1927): honest at 0 and at n of n, too.

    Raises:
        ValueError: not 0 <= k <= n, or a confidence outside 0..1.
    """
    if not 0 <= k <= n:
        raise ValueError(f"k is {k} of n {n}; allowed: 0 <= k <= n")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; allowed: above 0, below 1")
    if n == 0:
        return Rate(k=0, n=0, value=None, low=None, high=None, confidence=confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return Rate(
        k=k,
        n=n,
        value=k / n,
        # Rounding must not move the ends off what is certain.
        low=0.0 if k == 0 else max(0.0, centre - half),
        high=1.0 if k == n else min(1.0, centre + half),
        confidence=confidence,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRate:
    """`k` events in `exposure`, with the interval that holds their true rate."""

    k: int
    exposure: float
    value: float | None  # None: there was no exposure; never printed as 0
    low: float | None
    high: float | None
    confidence: float


def poisson(k: int, exposure: float, confidence: float = CONFIDENCE) -> EventRate:
    """The exact interval of a Poisson rate (Garwood 1936): honest at no event, too.

    Raises:
        ValueError: k or the exposure is negative, or a confidence outside 0..1.
    """
    if k < 0 or not exposure >= 0 or math.isinf(exposure):
        raise ValueError(f"k is {k}, exposure {exposure}; allowed: 0 or more")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; allowed: above 0, below 1")
    if exposure == 0:
        return EventRate(
            k=k, exposure=0.0, value=None, low=None, high=None, confidence=confidence
        )
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else _mean_where(k - 1, 1 - tail)
    return EventRate(
        k=k,
        exposure=exposure,
        value=k / exposure,
        low=low / exposure,
        high=_mean_where(k, tail) / exposure,
        confidence=confidence,
    )


def _mean_where(k: int, chance: float) -> float:
    """The Poisson mean at which `chance` is the chance of at most `k` events."""
    low, high = 0.0, 10.0 + 3.0 * k
    while _at_most(k, high) > chance:
        high *= 2
    for _ in range(100):  # halves the bracket below any float's resolution
        middle = (low + high) / 2
        if _at_most(k, middle) > chance:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_most(k: int, mean: float) -> float:
    if mean == 0:
        return 1.0
    return math.fsum(
        math.exp(i * math.log(mean) - mean - math.lgamma(i + 1)) for i in range(k + 1)
    )
