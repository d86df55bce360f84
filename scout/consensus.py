"""Who disagrees: exact strict majority and robust timing outliers (SCOUT Alg. 1).

Pure; called by C3 in the ranks, by the observers, and by re-analysis. Assumes a healthy
strict majority: corruption common to a majority is invisible, and a slowdown of the
whole group is no outlier. A missing peer (None) never counts as agreeing.

    N   peers, missing ones included    c*  count of the most frequent value
    m   median of the present timings   d   robust scale      kappa   sensitivity
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median, quantiles

# 1.4826 makes the MAD of Gaussian noise its standard deviation; without it kappa = 3
# marks 20-50 % of healthy rounds (FACTS).
_MAD_TO_SIGMA = 1.4826
_IQR_TO_SIGMA = 1 / 1.349
# Below 8 peers one outlier reaches into the quartiles and hides itself (FACTS "Ties").
_MIN_PEERS_FOR_IQR = 8


class Status(StrEnum):
    """What one comparison says; `incomplete`: nobody differs, but some are missing."""

    AGREE = "agree"
    ATTRIBUTED = "attributed"
    INCONCLUSIVE = "inconclusive"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactResult:
    """C3's (s, B, E) for values whose healthy copies are identical."""

    status: Status
    outliers: tuple[bool, ...]
    missing: tuple[bool, ...]
    k: int  # peers that hold the most frequent value
    n: int  # all peers

    @property
    def bitmap(self) -> str:
        """One character per peer: 0 agrees, 1 disagrees, ? is missing."""
        return _bitmap(self.outliers, self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingResult:
    """C3's (s, B, E) for timings, in the unit of the values."""

    status: Status
    outliers: tuple[bool, ...]
    missing: tuple[bool, ...]
    median: float | None
    scale: float | None
    scale_from: str  # mad, iqr, range, none
    threshold: float | None  # a value further than this from the median is an outlier
    k: int  # present peers within the threshold
    n: int

    @property
    def bitmap(self) -> str:
        """One character per peer: 0 agrees, 1 disagrees, ? is missing."""
        return _bitmap(self.outliers, self.missing)


def exact(values: Sequence[Hashable | None]) -> ExactResult:
    """Exact consensus over N peers (Alg. 1 l. 4-8, 15-18).

    Args:
        values: one per peer, None where the peer has none.

    Raises:
        ValueError: no peers at all.
    """
    if not values:
        raise ValueError("consensus of no peers; allowed: one or more values")
    n = len(values)
    missing = tuple(value is None for value in values)
    present = Counter(value for value in values if value is not None)
    if not present:
        return ExactResult(status=Status.INCOMPLETE, outliers=(False,) * n,
                           missing=missing, k=0, n=n)  # fmt: skip
    best, count = present.most_common(1)[0]
    nobody = (False,) * n
    if len(present) == 1:
        status = Status.INCOMPLETE if any(missing) else Status.AGREE
        return ExactResult(
            status=status, outliers=nobody, missing=missing, k=count, n=n
        )
    if 2 * count <= n:  # Alg. 1 l. 6: no strict majority, nobody is named
        return ExactResult(status=Status.INCONCLUSIVE, outliers=nobody,
                           missing=missing, k=count, n=n)  # fmt: skip
    outliers = tuple(value is not None and value != best for value in values)
    return ExactResult(
        status=Status.ATTRIBUTED, outliers=outliers, missing=missing, k=count, n=n
    )


def statistical(values: Sequence[float | None], kappa: float) -> TimingResult:
    """Statistical consensus over N peers (Alg. 1 l. 9-14, sec. 5.3).

    Marks both sides of the median; whether an outlier is a straggler is decided by
    `confirm` with its floors. Marked peers must leave a strict majority unmarked.

    Args:
        values: one timing per peer, None where the peer has none.
        kappa: robust scales that a healthy timing may be away from the median.

    Raises:
        ValueError: no peers at all, or kappa not above 0.
    """
    if not values:
        raise ValueError("consensus of no peers; allowed: one or more values")
    if kappa <= 0:
        raise ValueError(f"kappa is {kappa}; allowed: above 0")
    n = len(values)
    missing = tuple(value is None for value in values)
    present = [value for value in values if value is not None]
    if 2 * len(present) <= n:
        return _undecided(Status.INCOMPLETE, missing)
    middle = median(present)
    scale, scale_from = robust_scale(present, middle, kappa)
    threshold = kappa * scale
    outliers = tuple(
        value is not None and abs(value - middle) > threshold for value in values
    )
    within = len(present) - sum(outliers)
    if scale == 0 or not any(outliers):  # Alg. 1 l. 11-12
        status = Status.INCOMPLETE if any(missing) else Status.AGREE
    elif 2 * within <= n:
        status, outliers = Status.INCONCLUSIVE, (False,) * n
    else:
        status = Status.ATTRIBUTED
    return TimingResult(
        status=status,
        outliers=outliers,
        missing=missing,
        median=middle,
        scale=scale,
        scale_from=scale_from,
        threshold=threshold,
        k=within,
        n=n,
    )


def robust_scale(
    present: Sequence[float], middle: float, kappa: float
) -> tuple[float, str]:
    """Dispersion of healthy timings: MAD, else IQR (N >= 8), else a scaled range.

    The range's factor stays below 1/kappa, so that one value away from otherwise equal
    ones is always marked: [1, 1, 251] and [1, 1, 1, 251] (FACTS "Ties").
    """
    mad = median(abs(value - middle) for value in present) * _MAD_TO_SIGMA
    if mad > 0:
        return mad, "mad"
    if len(present) >= _MIN_PEERS_FOR_IQR:
        low, _, high = quantiles(present, n=4, method="inclusive")
        if high > low:
            return (high - low) * _IQR_TO_SIGMA, "iqr"
    spread = max(present) - min(present)
    return spread / (2 * kappa), "range" if spread > 0 else "none"


def _undecided(status: Status, missing: tuple[bool, ...]) -> TimingResult:
    return TimingResult(
        status=status,
        outliers=(False,) * len(missing),
        missing=missing,
        median=None,
        scale=None,
        scale_from="none",
        threshold=None,
        k=missing.count(False),
        n=len(missing),
    )


def _bitmap(outliers: tuple[bool, ...], missing: tuple[bool, ...]) -> str:
    return "".join(
        "?" if absent else "1" if outlier else "0"
        for outlier, absent in zip(outliers, missing, strict=True)
    )
