"""How much a path loses, from its count beside those of the other spines.

Pure. Called by `monitor`; localization needs it because a passing path proves only that
its links lose less than its flow can show: a small flow passes over a link that a large
one sees failing (the paper's localization takes "passes" for "healthy").

    X  packets of the path      m  what a healthy path of the same flow carries
    lost = (m - X) / m

Lost packets are sprayed again, so that healthy paths carry more than lambda, all the
more where several links fail. At least one of the flow's paths must be healthy: where
all lose alike, no count tells it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from spraycheck.ztest import FlowResult, SpineResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """What a path loses, with what it was measured by."""

    lost_frac: float  # negative where chance sent more over it
    healthy_pkts: float  # m
    sensitivity: float  # s: healthy counts spread by less than s * sqrt(m)


def shortfall(result: FlowResult, item: SpineResult) -> Shortfall:
    """What one path of a measured flow loses, in doubt against naming anybody.

    A failing path is held against the middle of the others, which may fail, too, so
    that its loss is rather under-estimated; a passing one against the best of them.
    """
    others = [other.count for other in result.spines if other.spine != item.spine]
    reference = statistics.median_high(others) if item.failed else max(others)
    healthy = max(result.expected, reference)
    return Shortfall(
        lost_frac=(healthy - item.count) / healthy,
        healthy_pkts=healthy,
        sensitivity=result.sensitivity,
    )
