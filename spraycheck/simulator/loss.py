"""How a directed link loses packets: gray, in bursts, by size, or all of them.

Values only; `lossy` applies them packet by packet. Called by `config` and whoever
describes an experiment. A link whose carrier is down is none of these: it leaves the
routing (`LeafSpine.disabled`), so k shrinks and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from spraycheck.errors import SimulationError
from vocab.names import Link

FOREVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoss:
    """One directed link that loses packets between two instants.

    Without further fields each packet is lost with chance `drop_frac`, on its own
    (SprayCheck "evaluation"); 1 is a black hole.
    """

    link: Link
    drop_frac: float  # long-run fraction of the packets concerned, above 0
    # Above 1: losses come in runs of this mean length (Gilbert 1960: the bad state
    # loses all, the good state none).
    mean_burst_pkts: float = 1.0
    min_bytes: int = 0  # smaller packets pass
    from_ns: int = 0
    until_ns: int | None = None  # None: to the end

    def __post_init__(self) -> None:
        if self.link.direction is None:
            raise SimulationError(
                f"link is {self.link}; allowed: a directed one, such as leaf0-spine3:up"
            )
        if not 0 < self.drop_frac <= 1:
            raise SimulationError(
                f"drop_frac is {self.drop_frac}; allowed: above 0, at most 1"
            )
        if not 1 <= self.mean_burst_pkts < 1e9:
            raise SimulationError(
                f"mean_burst_pkts is {self.mean_burst_pkts}; allowed: 1 to 1e9"
            )
        if self.is_burst and not self.enter_bad <= 1:
            raise SimulationError(
                f"drop_frac is {self.drop_frac}; allowed with runs of "
                f"{self.mean_burst_pkts} packets: at most "
                f"{self.mean_burst_pkts / (self.mean_burst_pkts + 1):g}"
            )
        if self.min_bytes < 0 or self.from_ns < 0:
            raise SimulationError(
                f"min_bytes is {self.min_bytes}, from_ns is {self.from_ns}; "
                "allowed: 0 or more"
            )
        if self.until_ns is not None and self.until_ns <= self.from_ns:
            raise SimulationError(
                f"until_ns is {self.until_ns}; allowed: above from_ns ({self.from_ns})"
            )

    @property
    def is_burst(self) -> bool:
        """Whether losses follow each other more than by chance."""
        return self.mean_burst_pkts > 1

    @property
    def leave_bad(self) -> float:
        """Chance per packet to leave the bad state."""
        return 1 / self.mean_burst_pkts

    @property
    def enter_bad(self) -> float:
        """Chance per packet to enter it; the share of bad packets is `drop_frac`."""
        if self.drop_frac == 1:
            return 2.0
        return self.leave_bad * self.drop_frac / (1 - self.drop_frac)


def black_hole(link: Link, from_ns: int = 0, until_ns: int | None = None) -> LinkLoss:
    """A link that loses everything and stays in the routing."""
    return LinkLoss(link=link, drop_frac=1.0, from_ns=from_ns, until_ns=until_ns)
