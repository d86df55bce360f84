"""When a flow sends its next packet: smooth, in bursts, or at random (kernel).

Called by `stream` and `events` after each packet. Slots are kept as fractions of a
picosecond, so that a load of 0.98 stays 0.98 over millions of packets.
"""

from __future__ import annotations

import math

from spraycheck.simulator.draws import PACE, draw, fraction
from spraycheck.simulator.jit import part
from spraycheck.simulator.world import Record


@part
def pace(flow: Record, slot: float, nic_ps: float) -> None:
    """Set `next_send` after a packet that left in `slot`; `nic_ps` at the host's rate.

    Poisson arrivals stand for many hosts: no host's link spaces them.
    """
    gap = flow["gap_ps"]
    if flow["poisson"]:
        bits = draw(flow["key"], flow["num_sent"], PACE)
        flow["next_send"] = slot - math.log(1.0 - fraction(bits)) * gap
        return
    if flow["burst_sent"] == 0:
        flow["burst_start"] = slot
    flow["burst_sent"] += 1
    if flow["burst_sent"] < flow["burst_pkts"]:
        flow["next_send"] = slot + nic_ps
        return
    burst_ps = flow["burst_pkts"] * gap
    flow["next_send"] = max(flow["burst_start"] + burst_ps, slot + nic_ps)
    flow["burst_sent"] = 0
