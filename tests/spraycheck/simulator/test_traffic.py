"""Flows of collectives: who sends to whom, when, and which flow is measured."""

from __future__ import annotations

import numpy as np
import pytest

from spraycheck.errors import SimulationError
from spraycheck.simulator.config import FabricConfig, SimulatorConfig
from spraycheck.simulator.run import simulate
from spraycheck.simulator.traffic import all_to_all, halving_doubling, ring
from vocab.graph import LeafSpine

GRAPH = LeafSpine(num_leaves=4, num_spines=4, hosts_per_leaf=2)


def test_a_ring_joins_each_leaf_to_the_next_by_two_queue_pairs() -> None:
    flows = ring(GRAPH, num_packets=10)
    pairs = [(flow.source_host, flow.target_host, flow.measured) for flow in flows]
    assert pairs == [
        (0, 2, True), (0, 2, False), (2, 4, True), (2, 4, False),
        (4, 6, True), (4, 6, False), (6, 0, True), (6, 0, False),
    ]  # fmt: skip


def test_all_to_all_measures_one_flow_of_each_leaf() -> None:
    flows = all_to_all(GRAPH, num_packets=10, num_qps=2, measured_shift=3)
    assert len(flows) == 4 * 3 * 2
    measured = [(f.source_host, f.target_host) for f in flows if f.measured]
    assert measured == [(0, 6), (2, 0), (4, 2), (6, 4)]


def test_halving_doubling_halves_then_doubles_and_waits_for_the_step_before() -> None:
    flows = halving_doubling(GRAPH, num_packets=64, num_qps=1)
    first = [flow for flow in flows if flow.source_host == 0]
    assert [flow.target_host for flow in first] == [2, 4, 4, 2]
    assert [flow.num_packets for flow in first] == [32, 16, 16, 32]
    for flow in flows:
        arriving = [flows[number] for number in flow.after]
        assert all(other.target_host == flow.source_host for other in arriving)
    config = SimulatorConfig(fabric=FabricConfig(graph=GRAPH), flows=flows)
    result = simulate(config, 1)
    assert result.is_complete
    assert result.delivered_ns is not None
    for number, flow in enumerate(flows):
        for other in flow.after:
            assert result.delivered_ns[other] < result.counted_ns[number]
    # Three flows of each leaf together use every path of it.
    assert (result.up.num_packets.sum(axis=1) == 96).all()


def test_an_all_reduce_takes_its_bytes_over_the_rate_and_a_few_trips() -> None:
    flows = halving_doubling(GRAPH, num_packets=4_000, num_qps=1)
    result = simulate(SimulatorConfig(fabric=FabricConfig(graph=GRAPH), flows=flows), 1)
    assert result.delivered_ns is not None
    sending_ns = 2 * 3_000 * 4154 * 8 / 100
    trips_ns = 4 * (4 * 1_000 + 3 * 333)
    total = np.max(result.delivered_ns)
    assert sending_ns < total < sending_ns + 2 * trips_ns


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ring(LeafSpine(num_leaves=1, num_spines=2), num_packets=1),
         "1 leaves; allowed: 2 or more"),
        (lambda: ring(GRAPH, num_packets=1, num_qps=0), "num_qps is 0"),
        (lambda: all_to_all(GRAPH, num_packets=1, measured_shift=4),
         "measured_shift is 4; allowed: 1..3"),
        (lambda: halving_doubling(LeafSpine(num_leaves=3, num_spines=2),
                                  num_packets=1), "3 leaves; allowed: a power of 2"),
    ],
)  # fmt: skip
def test_a_collective_that_cannot_be_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(SimulationError, match=message):
        call()
