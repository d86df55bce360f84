"""Find the sensitivity s from counts of healthy and of failing flows (SprayCheck 5.3).

Pure: takes samples of counts, wherever they were counted (simulator, fabric, switch);
runs none. The noise of spraying depends on the policy, on k, on the load of the uplinks
and on bursts, so every s belongs to such a key and none is shipped.

    X   counts, shape (flows, k)        N   packets of each flow; lambda = N/k
    d   deficit of a flow = max_i (lambda - X_i) / sqrt(lambda): it fails where d > s
    FPR flows of healthy fabrics that fail      TPR failing flows that are found
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spraycheck.errors import CalibrationError
from vocab.intervals import Rate, wilson

# A flow whose deficit equals s passes; rounding must not decide otherwise.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a sensitivity belongs to."""

    policy: str  # random, jsq2, ...
    num_spines: int  # k usable ones
    load: float  # of the uplinks, fraction of their rate
    burst_pkts: int  # packets that a sender sends back to back


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """s for one key, with how sure it is."""

    key: Key
    sensitivity: float
    wanted_false_alarm: float
    false_alarm: Rate  # flows of the samples that raise an alarm at this s
    variance_ratio: float  # Var X / lambda of the samples
    num_packets: int

    @property
    def is_proven(self) -> bool:
        """Whether even the interval's upper end keeps the wanted rate."""
        high = self.false_alarm.high
        return high is not None and high <= self.wanted_false_alarm


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint:
    """Rates at one s."""

    sensitivity: float
    false_positive: Rate
    true_positive: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Roc:
    """The curve by falling s, and the s that make no mistake on these samples."""

    points: tuple[RocPoint, ...]
    area: float  # under the curve, 0..1
    perfect_from: float | None  # None: no s separates the samples
    perfect_to: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeSample:
    """Counts of one flow size; shape (flows, k), with the failed spine's column."""

    num_packets: int
    healthy: NDArray[np.int64]
    failing: NDArray[np.int64]
    failed_spine: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """Mistakes at one flow size."""

    packets_per_spine: float
    false_negative: Rate
    false_positive: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumPackets:
    """P_min: packets a spine from which on no sampled flow is judged wrongly."""

    packets_per_spine: float | None  # None: not reached by the sizes sampled
    sizes: tuple[SizeResult, ...]


def calibrate(
    counts: ArrayLike, num_packets: int, *, key: Key, false_alarm: float
) -> Calibration:
    """The smallest s at which at most `false_alarm` of healthy flows raise an alarm.

    Args:
        counts: of healthy flows, shape (flows, k).
        false_alarm: wanted rate over all spines of a flow, in (0, 0.5).

    Raises:
        CalibrationError: wrong shape, or too few flows to see such a rate at all.
    """
    if not 0 < false_alarm < 0.5:
        raise CalibrationError(
            f"false_alarm is {false_alarm}; allowed: above 0, below 0.5"
        )
    sample = _counts(counts, key.num_spines)
    needed = math.ceil(1 / false_alarm)
    if len(sample) < needed:
        raise CalibrationError(
            f"{len(sample)} flows cannot show a false-alarm rate of {false_alarm}; "
            f"allowed: {needed} or more"
        )
    deficits = np.sort(flow_deficits(sample, num_packets))
    num_alarms = math.floor(false_alarm * len(sample) + _ROUNDING)
    s = max(0.0, float(deficits[len(sample) - 1 - num_alarms])) + _ROUNDING
    expected = num_packets / key.num_spines
    return Calibration(
        key=key,
        sensitivity=s,
        wanted_false_alarm=false_alarm,
        false_alarm=wilson(int((deficits > s).sum()), len(sample)),
        variance_ratio=float(((sample - expected) ** 2).mean() / expected),
        num_packets=num_packets,
    )


def roc(
    healthy: ArrayLike, failing: ArrayLike, num_packets: int, failed_spine: int
) -> Roc:
    """The ROC curve over s, from counts of shape (flows, k) each.

    A failing flow is found where the failed spine's own count is below the threshold.
    """
    good = np.sort(flow_deficits(_counts(healthy), num_packets))
    bad = np.sort(_deficits(_counts(failing), num_packets)[:, failed_spine])
    steps = np.unique(np.concatenate((good, bad, [0.0])))
    edges = [*(float(step) for step in steps[::-1] if step >= 0)]
    points = tuple(
        RocPoint(
            sensitivity=s,
            false_positive=wilson(int((good > s).sum()), len(good)),
            true_positive=wilson(int((bad > s).sum()), len(bad)),
        )
        for s in edges
    )
    # Mann and Whitney 1947: the chance that a failing flow has the larger deficit.
    below = np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")
    low, high = max(0.0, float(good[-1])), float(bad[0])
    return Roc(
        points=points,
        area=float(below.sum() / (2 * len(good) * len(bad))),
        perfect_from=low if low < high else None,
        perfect_to=high if low < high else None,
    )


def minimum_packets(samples: Sequence[SizeSample], s: float) -> MinimumPackets:
    """P_min at sensitivity s: from which sampled size on, FNR and FPR are zero."""
    sizes = []
    for sample in sorted(samples, key=lambda item: item.num_packets):
        good = flow_deficits(_counts(sample.healthy), sample.num_packets)
        bad = _deficits(_counts(sample.failing), sample.num_packets)
        # A healthy spine of a failing fabric may not fail either (paper: no FPR).
        others = np.delete(bad, sample.failed_spine, axis=1).max(axis=1)
        alarms = int((good > s).sum() + (others > s).sum())
        missed = int((bad[:, sample.failed_spine] <= s).sum())
        sizes.append(
            SizeResult(
                packets_per_spine=sample.num_packets / bad.shape[1],
                false_negative=wilson(missed, len(bad)),
                false_positive=wilson(alarms, len(good) + len(others)),
            )
        )
    reached = None
    for size in reversed(sizes):
        if size.false_negative.k or size.false_positive.k:
            break
        reached = size.packets_per_spine
    return MinimumPackets(packets_per_spine=reached, sizes=tuple(sizes))


def flow_deficits(counts: NDArray[np.int64], num_packets: int) -> NDArray[np.float64]:
    """d of each flow, shape (flows,): the s below which it raises an alarm."""
    deficits: NDArray[np.float64] = _deficits(counts, num_packets).max(axis=1)
    return deficits


def _deficits(counts: NDArray[np.int64], num_packets: int) -> NDArray[np.float64]:
    if num_packets < counts.shape[1]:
        raise CalibrationError(
            f"num_packets is {num_packets}; allowed: {counts.shape[1]} or more"
        )
    expected = num_packets / counts.shape[1]
    deficits: NDArray[np.float64] = (expected - counts) / math.sqrt(expected)
    return deficits


def _counts(counts: ArrayLike, num_spines: int | None = None) -> NDArray[np.int64]:
    array = np.asarray(counts)
    columns = array.shape[1] if array.ndim == 2 else 0
    if columns < 2 or len(array) == 0 or num_spines not in (None, columns):
        wanted = "2 or more" if num_spines is None else num_spines
        raise CalibrationError(
            f"counts have shape {array.shape}; allowed: (flows, {wanted})"
        )
    if array.dtype.kind not in "ui" or (array < 0).any():
        raise CalibrationError("counts must be whole numbers, 0 or more")
    return array.astype(np.int64)
