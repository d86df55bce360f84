"""What a simulation found: counts per flow and spine, losses, times, queues.

Values only, made by `run`. Times are ns from the start; None or nan where something did
not happen or was not looked at, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reordering:
    """How far packets arrived behind later ones (RFC 4737 extent), in packets."""

    max_extent_pkts: Integers  # (flows,)
    # (flows, 23): in order; behind by 1; 2-3; 4-7; ... Packets sent again are left out.
    histogram: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queues:
    """Output queues of one kind of port; arrays of (leaves, spines) or (hosts,)."""

    num_packets: Integers
    mean_wait_ns: Floats  # before service; nan without packets
    max_bytes: Floats  # with the packet in service
    num_lost: Integers  # by the link behind the port


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """The first packets that reached target leaves, in order; shape (n,) each."""

    at_ns: Floats
    flow: Integers
    seq: Integers  # 0 .. num_packets - 1
    spine: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulationResult:
    """One simulation at one moment; per flow where not said otherwise.

    sent = delivered + lost + overflowed + in flight, always.
    """

    seed: int
    kernel: str  # stream or events
    now_ns: float
    is_complete: bool  # every flow delivered all of its packets
    counts: Integers  # (flows, spines): packets that reached the target leaf
    sent: Integers  # transmissions, those sent again too
    delivered: Integers
    lost: Integers  # by links
    overflowed: Integers  # by full queues
    retransmitted: Integers
    in_flight: Integers
    num_in_network: int  # counted on its own; equals the sum of in_flight
    counted_ns: Floats  # last packet at the target leaf; nan: none yet
    delivered_ns: Floats | None  # last packet at the target host; None: not simulated
    rate_gbps: Floats  # of the sender at the end
    notices: Integers  # congestion notices (CNP)
    up: Queues  # (leaves, spines): leaf to spine
    down: Queues  # (leaves, spines): spine to leaf
    to_host: Queues | None  # (hosts,); None: not simulated
    reordering: Reordering | None  # None: not looked at
    arrivals: Arrivals | None  # None: not asked for
    state_bytes: int  # memory of the simulation
