"""The simulator benchmark measures what it names; `make bench` judges its goals."""

from __future__ import annotations

from benchmarks.simulator import Size, claims, congest
from spraycheck.simulator import Dcqcn, FabricConfig, SimulatorConfig, ring, simulate
from vocab.graph import LeafSpine


def test_both_kernels_are_timed_on_the_same_ring() -> None:
    found = list(claims(Size(stream_packets=8_000, event_packets=4_000)))
    goals = [">= 1", None, ">= 1", ">= 1", "<= 1.1", "<= 1.1"]
    assert [claim.goal for claim in found] == goals
    stream, events, crowded, *_ = found
    assert events.baseline == stream.value
    assert crowded.baseline == 1e6


def test_the_congested_ring_makes_dcqcn_react() -> None:
    graph = LeafSpine(num_leaves=8, num_spines=8)
    crowded = SimulatorConfig(
        fabric=FabricConfig(graph=graph),
        flows=ring(graph, num_packets=4_000),
        dcqcn=Dcqcn(),
    )
    assert not simulate(crowded, 1).notices.any()
    result = simulate(congest(crowded), 1)
    assert result.notices.any()
    assert result.is_complete
