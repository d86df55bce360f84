"""What leaf switches do with packets whose mark a host has set itself.

Called by `player`. The executable specification of the data plane decides: the spoofed
packets go through the source leaf and the target leaf packet by packet.
"""

from __future__ import annotations

from random import Random

from spraycheck.dataplane.base import Packet
from spraycheck.dataplane.model import ModelLeaf
from spraycheck.dataplane.spray import Sprayer
from vocab.graph import LeafSpine


def spoofed_counts(
    graph: LeafSpine, pair: tuple[int, int], dest_qp: int, num_packets: int, seed: int
) -> tuple[int, ...]:
    """How many of them the target leaf counts as measured, by spine."""
    source, target = (
        ModelLeaf(
            leaf=leaf,
            graph=graph,
            sprayer=Sprayer(
                policy="random",
                num_spines=graph.num_spines,
                rate_gbps=1.0,  # of no effect on random spraying
                rng=Random(seed + leaf),
            ),
        )
        for leaf in pair
    )
    for number in range(num_packets):
        packet = Packet(
            target_leaf=pair[1], dest_qp=dest_qp, psn=number, marked=True, priority=7
        )
        departure = source.receive(packet, None, number)
        if departure is not None and departure.spine is not None:
            target.receive(departure.packet, departure.spine, number)
    return target.read(dest_qp).counts
