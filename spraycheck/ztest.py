"""Does a spine deliver too few packets of a sprayed flow (SprayCheck "detection")?

Pure. A flow of N packets is sprayed over k spines; X_i of them arrive by spine i.

    N   packets of the flow         k   usable spines            lambda = N/k
    X_i packets counted by spine i  t   threshold = lambda - s*sqrt(N/k)
    s   sensitivity                 p   drop rate of a path, fraction 0..1
    v   variance of X_i over lambda; 1 for random spraying, less where queues decide

One-sided: a path fails when X_i < t. Called by `control`, `baselines` and whoever shows
counts; never reads a switch. `s` is never shipped as a number: it comes from a
wanted false-alarm rate and `v`, which depends on the spraying policy, k and the load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from spraycheck.errors import CountError

_STANDARD = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineResult:
    """One spine's count beside its threshold, in packets."""

    spine: int
    count: int
    margin: float  # X_i - t; below 0: failed
    z: float  # (X_i - lambda) / sqrt(lambda)
    p_value: float  # chance of such a count or a lower one on a healthy path
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult:
    """All spines of one measured flow."""

    num_packets: int
    expected: float  # lambda
    threshold: float  # t
    sensitivity: float  # s
    smallest_drop_frac: float  # p that is found with probability 1/2
    spines: tuple[SpineResult, ...]

    @property
    def failed(self) -> tuple[int, ...]:
        """Spines whose path lost too many packets."""
        return tuple(item.spine for item in self.spines if item.failed)

    @property
    def is_consistent(self) -> bool:
        """Whether the spines that pass account for the packets of theirs.

        Lost packets are sprayed again over all paths, so a healthy path never carries
        less than its share. Where the passing spines *together* fall below the same
        test, or none passes, N was announced too high or packets are still under way:
        no path may be blamed for that. Too high by less than s*sqrt(lambda/k) packets
        a spine cannot be told from noise.
        """
        passing = [item.count for item in self.spines if not item.failed]
        if not passing:
            return False
        slack = self.sensitivity * math.sqrt(self.expected * len(passing))
        return sum(passing) >= self.expected * len(passing) - slack


def sensitivity(false_alarm: float, variance_ratio: float, num_spines: int) -> float:
    """The s at which a healthy flow raises any alarm with chance `false_alarm`.

    Args:
        false_alarm: over all spines of one flow together, in (0, 0.5).
        variance_ratio: v, above 0.
        num_spines: k, 2 or more.

    Raises:
        CountError: an argument is out of its range.
    """
    _check_spines(num_spines)
    if not 0 < false_alarm < 0.5:
        raise CountError(f"false_alarm is {false_alarm}; allowed: above 0, below 0.5")
    _check_variance(variance_ratio)
    per_spine = -math.expm1(math.log1p(-false_alarm) / num_spines)
    return -_STANDARD.inv_cdf(per_spine) * math.sqrt(variance_ratio)


def threshold(num_packets: int, num_spines: int, s: float) -> float:
    """t = lambda - s*sqrt(N/k), in packets; never below 0.

    Raises:
        CountError: fewer packets than spines, fewer than 2 spines, or s below 0.
    """
    expected = _expected(num_packets, num_spines)
    if not 0 <= s < math.inf:
        raise CountError(f"s is {s}; allowed: 0 or more")
    return max(0.0, expected - s * math.sqrt(expected))


def judge(
    counts: Sequence[int],
    num_packets: int,
    s: float,
    *,
    variance_ratio: float = 1.0,
    spines: Sequence[int] | None = None,
) -> FlowResult:
    """Compare each spine's count with the threshold.

    Args:
        counts: X_i of the k usable spines; retransmitted packets included.
        num_packets: N, from the flow's announcement.
        variance_ratio: v, above 0; only p-values depend on it.
        spines: their numbers; None: 0 .. k-1.

    Raises:
        CountError: impossible counts, such as more than N by one spine.
    """
    limit = threshold(num_packets, len(counts), s)
    expected = num_packets / len(counts)
    numbers = range(len(counts)) if spines is None else spines
    if len(numbers) != len(counts):
        raise CountError(f"{len(counts)} counts for spines {tuple(numbers)}")
    for spine, count in zip(numbers, counts, strict=True):
        if not 0 <= count <= num_packets:
            raise CountError(
                f"count of spine{spine} is {count}; allowed: 0..{num_packets}"
            )
    _check_variance(variance_ratio)
    scale = math.sqrt(expected)
    noise = math.sqrt(variance_ratio)
    return FlowResult(
        num_packets=num_packets,
        expected=expected,
        threshold=limit,
        sensitivity=s,
        smallest_drop_frac=smallest_drop(num_packets, len(counts), s),
        spines=tuple(
            SpineResult(
                spine=spine,
                count=count,
                margin=count - limit,
                z=(count - expected) / scale,
                p_value=_STANDARD.cdf((count - expected) / (scale * noise)),
                failed=count < limit,
            )
            for spine, count in zip(numbers, counts, strict=True)
        ),
    )


def smallest_drop(num_packets: int, num_spines: int, s: float) -> float:
    """The drop rate whose expected count is just the threshold, fraction 0..1.

    Lost packets are sprayed again, so a rate p costs a spine p*lambda*(1 - 1/k) packets
    (FACTS).
    """
    expected = _expected(num_packets, num_spines)
    deficit = expected - threshold(num_packets, num_spines, s)
    return min(1.0, deficit / (expected * (1 - 1 / num_spines)))


def packets_needed(
    drop_frac: float,
    num_spines: int,
    s: float,
    *,
    power: float = 0.5,
    variance_ratio: float = 1.0,
) -> int:
    """N at which a path that drops `drop_frac` is found with chance `power`.

    Args:
        power: in (0, 1); at 1/2 the expected count is just the threshold.
        variance_ratio: v; counts for other powers than 1/2 only.

    Raises:
        CountError: an argument is out of its range.
    """
    _check_spines(num_spines)
    if not 0 < drop_frac <= 1:
        raise CountError(f"drop_frac is {drop_frac}; allowed: above 0, at most 1")
    if not 0 <= s < math.inf:
        raise CountError(f"s is {s}; allowed: 0 or more")
    if not 0 < power < 1:
        raise CountError(f"power is {power}; allowed: above 0, below 1")
    _check_variance(variance_ratio)
    reach = s + _STANDARD.inv_cdf(power) * math.sqrt(variance_ratio)
    root = max(0.0, reach) / (drop_frac * (1 - 1 / num_spines))
    return max(num_spines, math.ceil(num_spines * root * root))


def packets_still_needed(
    num_packets: int, drop_frac: float, num_spines: int, s: float
) -> int:
    """How many of `packets_needed` are yet to come after `num_packets`."""
    return max(0, packets_needed(drop_frac, num_spines, s) - num_packets)


def _expected(num_packets: int, num_spines: int) -> float:
    _check_spines(num_spines)
    if num_packets < num_spines:
        raise CountError(
            f"num_packets is {num_packets} over {num_spines} spines; "
            f"allowed: {num_spines} or more"
        )
    return num_packets / num_spines


def _check_spines(num_spines: int) -> None:
    if num_spines < 2:
        raise CountError(f"num_spines is {num_spines}; allowed: 2 or more, to differ")


def _check_variance(variance_ratio: float) -> None:
    if not 0 < variance_ratio < math.inf:
        raise CountError(f"variance_ratio is {variance_ratio}; allowed: above 0")
