"""An all-reduce as flows between leaves, in stages (Thakur et al. 2005). Pure.

    stage            0      1      2      3        4 ranks
    exchange with    r^1    r^2    r^2    r^1      halving, then doubling
    share of bytes   1/2    1/4    1/4    1/2

Called by `player`. Halving-doubling and not a ring, because a ring gives a leaf one
outgoing and one incoming flow, which cannot tell an uplink from a downlink (FACTS).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from spraycheck.simulator import Flow, halving_doubling
from vocab.graph import LeafSpine

PAYLOAD_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What one leaf sends to another over all stages of a step."""

    source_leaf: int
    target_leaf: int
    num_packets: int


def stages(graph: LeafSpine, num_bytes: int) -> tuple[tuple[Flow, ...], ...]:
    """The flows of each stage, one per leaf; a stage starts when the one before ends.

    Raises:
        SimulationError: the number of leaves is no power of 2.
    """
    num_packets = max(1, math.ceil(num_bytes / PAYLOAD_BYTES))
    flows = halving_doubling(graph, num_packets=num_packets, num_qps=1)
    per_stage = graph.num_leaves
    return tuple(
        tuple(replace(flow, after=()) for flow in flows[first : first + per_stage])
        for first in range(0, len(flows), per_stage)
    )


def transfers(
    graph: LeafSpine, parts: tuple[tuple[Flow, ...], ...]
) -> tuple[Transfer, ...]:
    """Stages added up by pair of leaves, in the order of leaves."""
    totals: dict[tuple[int, int], int] = {}
    for flow in (flow for part in parts for flow in part):
        pair = pair_of(graph, flow)
        totals[pair] = totals.get(pair, 0) + flow.num_packets
    return tuple(
        Transfer(source_leaf=source, target_leaf=target, num_packets=number)
        for (source, target), number in sorted(totals.items())
    )


def pair_of(graph: LeafSpine, flow: Flow) -> tuple[int, int]:
    """Source and target leaf of a flow."""
    return (
        graph.leaf_of_host(flow.source_host),
        graph.leaf_of_host(flow.target_host),
    )
