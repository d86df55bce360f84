"""The flows of a collective, one endpoint per leaf (SprayCheck "evaluation").

Values in, `Flow`s out; called by experiments and by whoever plays a job's collectives.
Every rank sends over `num_qps` queue pairs (2 in the paper); the first of each pair of
ranks is measured where the other leaf's turn has come, the others compete with it.

    ring               rank r ─► r+1, all steps as one flow: nothing waits
    halving_doubling   rank r ◄► r xor 2^i, smaller and smaller, then back
    all_to_all         rank r ─► every other
"""

from __future__ import annotations

from spraycheck.errors import SimulationError
from spraycheck.simulator.config import Flow
from vocab.graph import LeafSpine


def ring(
    graph: LeafSpine, *, num_packets: int, num_qps: int = 2, start_ns: int = 0
) -> tuple[Flow, ...]:
    """Rank r sends to r + 1, `num_packets` on each queue pair; the first is measured.

    Raises:
        SimulationError: fewer than two leaves, or fewer than one queue pair.
    """
    _check(graph, num_qps)
    return tuple(
        Flow(
            source_host=_host(graph, rank),
            target_host=_host(graph, (rank + 1) % graph.num_leaves),
            num_packets=num_packets,
            measured=qp == 0,
            start_ns=start_ns,
        )
        for rank in range(graph.num_leaves)
        for qp in range(num_qps)
    )


def halving_doubling(
    graph: LeafSpine, *, num_packets: int, num_qps: int = 2, start_ns: int = 0
) -> tuple[Flow, ...]:
    """All-reduce of a buffer of `num_packets` per queue pair (Thakur et al. 2005).

    In step i rank r exchanges half of what is left with r xor 2^i; a step starts when
    the one before has arrived. Every flow's first queue pair is measured: a leaf sends
    to one other leaf at a time.

    Raises:
        SimulationError: the number of leaves is no power of 2, or as for `ring`.
    """
    _check(graph, num_qps)
    num_ranks = graph.num_leaves
    if num_ranks & (num_ranks - 1):
        raise SimulationError(f"{num_ranks} leaves; allowed: a power of 2")
    halving = [1 << i for i in range(num_ranks.bit_length() - 1)]
    flows: list[Flow] = []
    arriving: dict[int, tuple[int, ...]] = {}  # rank: flows of the step before
    for step, distance in enumerate(halving + halving[::-1]):
        level = min(step, 2 * len(halving) - 1 - step)
        size = max(1, num_packets >> (level + 1))
        next_arriving: dict[int, tuple[int, ...]] = {}
        for rank in range(num_ranks):
            target = rank ^ distance
            first = len(flows)
            for qp in range(num_qps):
                flow = Flow(
                    source_host=_host(graph, rank),
                    target_host=_host(graph, target),
                    num_packets=size,
                    measured=qp == 0,
                    start_ns=start_ns,
                    after=arriving.get(rank, ()),
                )
                flows.append(flow)
            next_arriving[target] = tuple(range(first, len(flows)))
        arriving = next_arriving
    return tuple(flows)


def all_to_all(
    graph: LeafSpine,
    *,
    num_packets: int,
    num_qps: int = 1,
    measured_shift: int = 1,
    start_ns: int = 0,
) -> tuple[Flow, ...]:
    """Every rank sends `num_packets` to every other on each queue pair.

    Args:
        measured_shift: each leaf measures its flow to the rank that many further on:
            one flow per leaf, as `selection` would pick; 1 .. leaves - 1.

    Raises:
        SimulationError: `measured_shift` is out of range, or as for `ring`.
    """
    _check(graph, num_qps)
    num_ranks = graph.num_leaves
    if not 1 <= measured_shift < num_ranks:
        raise SimulationError(
            f"measured_shift is {measured_shift}; allowed: 1..{num_ranks - 1}"
        )
    return tuple(
        Flow(
            source_host=_host(graph, rank),
            target_host=_host(graph, (rank + shift) % num_ranks),
            num_packets=num_packets,
            measured=qp == 0 and shift == measured_shift,
            start_ns=start_ns,
        )
        for rank in range(num_ranks)
        for shift in range(1, num_ranks)
        for qp in range(num_qps)
    )


def _host(graph: LeafSpine, rank: int) -> int:
    return rank * graph.hosts_per_leaf


def _check(graph: LeafSpine, num_qps: int) -> None:
    if graph.num_leaves < 2:
        raise SimulationError(f"{graph.num_leaves} leaves; allowed: 2 or more")
    if num_qps < 1:
        raise SimulationError(f"num_qps is {num_qps}; allowed: 1 or more")
