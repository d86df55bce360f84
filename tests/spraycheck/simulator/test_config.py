"""A simulation that cannot be is refused with the field, its value and what may be."""

from __future__ import annotations

import dataclasses

import pytest

from spraycheck.errors import SimulationError
from spraycheck.simulator.config import (
    Dcqcn,
    FabricConfig,
    Flow,
    LinkDelay,
    SimulatorConfig,
)
from spraycheck.simulator.loss import LinkLoss, black_hole
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

GRAPH = LeafSpine(num_leaves=3, num_spines=2, disabled=frozenset({Link(2, 0)}))
FABRIC = FabricConfig(graph=GRAPH)
FLOW = Flow(source_host=0, target_host=1, num_packets=10)
UP = Link(0, 1, Direction.UP)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"policy": "ecmp"}, "policy is 'ecmp'; allowed: random, jsq2, jsq"),
        ({"link_gbps": 0.0}, "link_gbps is 0.0; allowed: above 0"),
        ({"host_gbps": float("nan")}, "host_gbps is nan; allowed: above 0, finite"),
        ({"delay_ns": -1}, "delay_ns is -1; allowed: 0 or more"),
        ({"queue_bytes": 0}, "queue_bytes is 0; allowed: 1 or more"),
        ({"delays": (LinkDelay(link=Link(0, 7, Direction.UP), extra_ns=1),)},
         "delays: leaf0-spine7:up is unknown; allowed: leaf0..leaf2, spine0..spine1"),
    ],
)  # fmt: skip
def test_a_fabric(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        dataclasses.replace(FABRIC, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_packets": 0}, "num_packets is 0; allowed: 1 or more"),
        ({"num_packets": 1 << 31}, "num_packets is 2147483648; allowed: below 2"),
        ({"burst_pkts": 0}, "burst_pkts is 0"),
        ({"rate_gbps": -1.0}, "rate_gbps is -1.0; allowed: above 0"),
        ({"arrivals": "bursty"}, "arrivals is 'bursty'; allowed: smooth, poisson"),
        ({"arrivals": "poisson", "burst_pkts": 2}, "burst_pkts is 2; allowed: 1 with"),
        ({"source_host": -1}, "source_host is -1; allowed: 0 or more"),
    ],
)
def test_a_flow(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        dataclasses.replace(FLOW, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"drop_frac": 0.0}, "drop_frac is 0.0; allowed: above 0, at most 1"),
        ({"drop_frac": float("nan")}, "drop_frac is nan"),
        ({"mean_burst_pkts": 0.5}, "mean_burst_pkts is 0.5; allowed: 1 to"),
        ({"drop_frac": 0.9, "mean_burst_pkts": 2.0}, "allowed with runs of 2.0"),
        ({"min_bytes": -4}, "min_bytes is -4"),
        ({"from_ns": 5, "until_ns": 5}, r"until_ns is 5; allowed: above from_ns \(5\)"),
        ({"link": Link(0, 1)}, "link is leaf0-spine1; allowed: a directed one"),
    ],
)
def test_a_loss(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        LinkLoss(**{"link": UP, "drop_frac": 0.1, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"flows": ()}, r"flows is \(\); allowed: at least one"),
        ({"limit_ns": 0}, "limit_ns is 0; allowed: 1.."),
        ({"retransmit_after_ns": -1}, "retransmit_after_ns is -1"),
        ({"losses": (black_hole(UP), black_hole(UP))}, "losses name leaf0-spine1:up t"),
        ({"losses": (black_hole(Link(2, 0, Direction.DOWN)),)},
         "losses: leaf2-spine0:down is disabled; allowed: a usable link"),
        ({"flows": (dataclasses.replace(FLOW, target_host=3),)},
         "flow 0: target_host is 3; allowed: 0..2"),
        ({"flows": (FLOW, dataclasses.replace(FLOW, target_host=0))},
         "flow 1: target_host is 0; allowed: a host of another leaf than leaf0"),
        ({"flows": (dataclasses.replace(FLOW, rate_gbps=101.0),)},
         "flow 0: rate_gbps is 101.0; allowed: at most host_gbps"),
        ({"flows": (dataclasses.replace(FLOW, after=(0,)),)},
         r"flow 0: after is \(0,\); allowed: nothing"),
        ({"fabric": FabricConfig(graph=dataclasses.replace(
            GRAPH, disabled=frozenset({Link(0, 0), Link(1, 1)})))},
         "flow 0: no path from leaf0 to leaf1"),
    ],
)  # fmt: skip
def test_a_simulation(fields: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"fabric": FABRIC, "flows": (FLOW,)}
    with pytest.raises(SimulationError, match=message):
        SimulatorConfig(**{**given, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mark_all_bytes": 5}, r"mark_all_bytes is 5; allowed: above mark_from_bytes"),
        ({"gain": 0.0}, "gain is 0.0; allowed: above 0, at most 1"),
        ({"fast_rises": 0}, "fast_rises is 0; allowed: 1 or more"),
        ({"least_gbps": 0.0}, "least_gbps is 0.0; allowed: above 0"),
    ],
)
def test_congestion_control(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        Dcqcn(**fields)  # type: ignore[arg-type]


def test_load_is_the_share_of_the_uplinks_that_one_host_fills() -> None:
    assert FABRIC.load == 0.5
