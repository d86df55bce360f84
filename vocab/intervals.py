"""Confidence intervals for rates that were counted. Pure.

Called by `harness.campaign_summary` and `spraycheck.calibrate`. Symbols: k successes
of n trials, z the normal quantile of the confidence level.
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
