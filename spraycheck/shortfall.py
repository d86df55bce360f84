"""How much a path may lose, from its count beside those of the other spines.

Pure. Called by `monitor`; localization needs it because a passing path proves only that
its links lose less than its flow can show: a small flow passes over a link that a large
one sees failing (the paper's localization takes "passes" for "healthy").

    X  packets of the path      m  what a healthy path of the same flow carries
    estimate = (m - X) / m      most = estimate + s / sqrt(m), not seen with fewer

Lost packets are sprayed again, so that healthy paths carry more than lambda, all the
more where several links fail; m is the larger of lambda and the others' median.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from spraycheck.ztest import FlowResult, SpineResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """Fractions of a path's packets, 0 or more."""

    estimate: float
    most: float  # more than this would have failed


def shortfall(result: FlowResult, item: SpineResult) -> Shortfall:
    """What one path of a measured flow may lose."""
    others = [other.count for other in result.spines if other.spine != item.spine]
    healthy = max(result.expected, statistics.median_high(others) if others else 0)
    estimate = max(0.0, (healthy - item.count) / healthy)
    return Shortfall(
        estimate=estimate, most=estimate + result.sensitivity / math.sqrt(healthy)
    )
