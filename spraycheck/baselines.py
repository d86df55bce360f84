"""What operators do without SprayCheck, in the same interface (issue 7).

Pure. `fixed_deviation` answers as `ztest.judge` does, `counter_pairs` as
`localize.localize` does, so that experiments can put them side by side. Neither is used
by the product's own verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spraycheck.errors import CountError
from spraycheck.localize import BlamedLink, Localization
from spraycheck.ztest import FlowResult, judge
from vocab.names import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPair:
    """Port counters at both ends of a directed link over the same interval."""

    link: Link
    num_sent: int  # TX of the sending port
    num_received: int  # RX of the receiving port


def fixed_deviation(
    counts: Sequence[int],
    num_packets: int,
    *,
    deviation_frac: float = 0.01,
    spines: Sequence[int] | None = None,
) -> FlowResult:
    """A port fails when it carries `deviation_frac` less than its share, whatever N.

    That is the z-test with an s that grows with sqrt(N/k): too nervous for small flows,
    too dull for large ones.

    Raises:
        CountError: impossible counts, or a fraction not in (0, 1).
    """
    if not 0 < deviation_frac < 1:
        raise CountError(
            f"deviation_frac is {deviation_frac}; allowed: above 0, below 1"
        )
    if len(counts) < 2:
        raise CountError(f"{len(counts)} counts; allowed: 2 or more, to differ")
    s = deviation_frac * math.sqrt(num_packets / len(counts))
    return judge(counts, num_packets, s, spines=spines)


def counter_pairs(
    pairs: Iterable[PortPair], *, tolerance_frac: float = 0.0
) -> Localization:
    """Blame every link that received less than was sent into it.

    Exact where both counters are honest and read at one instant; blind to a switch that
    counts a packet as sent and loses it before the wire, which is what makes a failure
    gray. `tolerance_frac` allows for packets under way while the counters are read.

    Raises:
        CountError: more packets received than sent, negative ones, or a link whole.
    """
    blamed = []
    for pair in pairs:
        if pair.link.direction is None:
            raise CountError(f"{pair.link} has no direction; allowed: :up or :down")
        if not 0 <= pair.num_received <= pair.num_sent:
            raise CountError(
                f"{pair.link} received {pair.num_received} packets; "
                f"allowed: 0..{pair.num_sent}, as many as were sent"
            )
        if pair.num_sent - pair.num_received > tolerance_frac * pair.num_sent:
            # Counters speak of links: no path is decisive, and none was measured.
            blamed.append(
                BlamedLink(link=pair.link, decisive=(), failing=(), num_measured=0)
            )
    return Localization(links=tuple(sorted(blamed, key=lambda item: str(item.link))))
