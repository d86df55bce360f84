"""Queues wait as queueing theory says, priority holds, congestion control reacts."""

from __future__ import annotations

import numpy as np
import pytest

from spraycheck.simulator.config import Dcqcn, FabricConfig, Flow, SimulatorConfig
from spraycheck.simulator.loss import LinkLoss
from spraycheck.simulator.result import SimulationResult
from spraycheck.simulator.run import simulate
from spraycheck.simulator.traffic import ring
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

SERVICE_NS = 4154 * 8 / 100  # of a full packet at 100 Gbit/s


@pytest.mark.parametrize("kernel", ["stream", "events"])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_poisson_arrivals_wait_as_in_an_m_d_1_queue(kernel: str, load: float) -> None:
    """Random spraying of Poisson arrivals is Poisson on each uplink.

    Mean wait: load / (2 (1 - load)) services (Pollaczek-Khinchine); 400,000 packets
    leave about 1 % noise at load 0.8.
    """
    graph = LeafSpine(num_leaves=2, num_spines=4)
    fabric = FabricConfig(graph=graph, policy="random", host_gbps=400 * load)
    flow = Flow(source_host=0, target_host=1, num_packets=400_000, arrivals="poisson")
    result = simulate(SimulatorConfig(fabric=fabric, flows=(flow,)), 5, kernel=kernel)
    waits, num = result.up.mean_wait_ns[0], result.up.num_packets[0]
    expected = load / (2 * (1 - load)) * SERVICE_NS
    assert np.average(waits, weights=num) == pytest.approx(expected, rel=0.03)
    # An uplink spaces packets by a service: its downlink has nothing to wait for.
    assert (result.down.mean_wait_ns[1] == 0).all()


def test_a_full_queue_drops_and_what_it_dropped_is_sent_again() -> None:
    graph = LeafSpine(num_leaves=2, num_spines=2)
    fabric = FabricConfig(graph=graph, host_gbps=400.0, queue_bytes=20_000)
    flow = Flow(source_host=0, target_host=1, num_packets=2_000)
    result = simulate(SimulatorConfig(fabric=fabric, flows=(flow,)), 1)
    assert result.overflowed[0] > 0
    assert result.retransmitted[0] == result.overflowed[0]
    assert result.up.max_bytes.max() <= 20_000
    assert result.is_complete


def beside_another(*, prioritize: bool, measured: bool = True) -> SimulationResult:
    """A measured flow at a third of the uplinks, and a bursty one at a half."""
    fabric = FabricConfig(
        graph=LeafSpine(num_leaves=3, num_spines=4, hosts_per_leaf=2),
        host_gbps=400.0,
        prioritize=prioritize,
    )
    own = Flow(
        source_host=0, target_host=2, num_packets=20_000, measured=True,
        rate_gbps=133.0,
    )  # fmt: skip
    other = Flow(
        source_host=1, target_host=4, num_packets=30_000, rate_gbps=200.0,
        burst_pkts=50,
    )  # fmt: skip
    flows = (own, other) if measured else (own,)
    return simulate(SimulatorConfig(fabric=fabric, flows=flows), 3, kernel="events")


def test_the_measured_flow_passes_the_packets_of_others_at_its_leaf() -> None:
    alone = beside_another(prioritize=True, measured=False)
    on_top, among = (beside_another(prioritize=item) for item in (True, False))
    assert on_top.reordering is not None
    assert among.reordering is not None
    assert alone.reordering is not None
    # Waiting for the one packet in service overtakes hardly anything.
    assert on_top.reordering.max_extent_pkts[0] <= 3
    assert among.reordering.max_extent_pkts[0] > 5
    assert alone.reordering.max_extent_pkts[0] <= 3
    for result in (on_top, among):
        assert result.is_complete
        assert (result.delivered == [20_000, 30_000]).all()


def two_flows(
    *, prioritize: bool, virtual_queues: bool = True, other_packets: int = 20_000
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Counts of a measured flow over 4 spines; the other can use 2 of them only."""
    graph = LeafSpine(
        num_leaves=3,
        num_spines=4,
        hosts_per_leaf=2,
        disabled=frozenset({Link(2, 2), Link(2, 3)}),
    )
    own = Flow(
        source_host=0, target_host=2, num_packets=20_000, measured=True,
        rate_gbps=180.0,
    )  # fmt: skip
    other = Flow(
        source_host=1, target_host=4, num_packets=other_packets, rate_gbps=180.0
    )
    fabric = FabricConfig(
        graph=graph,
        host_gbps=400.0,
        prioritize=prioritize,
        virtual_queues=virtual_queues,
    )
    config = SimulatorConfig(fabric=fabric, flows=(own, other))
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    counts = simulate(config, 1).counts[0]
    return counts


@pytest.mark.parametrize("other_packets", [5_000, 20_000, 60_000])
def test_priority_restores_the_balance_in_an_asymmetric_network(
    other_packets: int,
) -> None:
    """SprayCheck Fig. 3, 10a: shorter than, as long as, longer than the measured."""
    among = two_flows(prioritize=False, other_packets=other_packets)
    on_top = two_flows(prioritize=True, other_packets=other_packets)
    alone = two_flows(prioritize=True, other_packets=1)
    assert np.abs(among - 5_000).max() > 500
    assert np.abs(on_top - 5_000).max() < 3 * 5_000**0.5
    # Its virtual queues are its own: others change nothing at all.
    assert (on_top == alone).all()


def test_real_queues_let_the_packet_in_service_disturb_the_measured_flow() -> None:
    """Without preemption its packets wait for the others' one: spines 0, 1 get less."""
    real = two_flows(prioritize=True, virtual_queues=False)
    among = two_flows(prioritize=False)
    assert real[:2].sum() < 0.95 * real[2:].sum()
    assert among[:2].sum() < real[:2].sum()


def incast(dcqcn: Dcqcn | None) -> SimulationResult:
    """Three hosts send to one at its full rate each."""
    graph = LeafSpine(num_leaves=4, num_spines=4)
    flows = tuple(
        Flow(source_host=host, target_host=3, num_packets=40_000) for host in range(3)
    )
    fabric = FabricConfig(graph=graph)
    return simulate(SimulatorConfig(fabric=fabric, flows=flows, dcqcn=dcqcn), 1)


def test_dcqcn_keeps_the_queue_short_and_the_link_busy() -> None:
    free, controlled = incast(None), incast(Dcqcn())
    assert free.overflowed.sum() > 0
    assert controlled.overflowed.sum() == 0
    assert (controlled.notices > 10).all()
    assert (free.notices == 0).all()
    assert controlled.to_host is not None
    assert controlled.to_host.max_bytes[3] < 10 * 2**20
    assert controlled.delivered_ns is not None
    least_ns = 120_000 * SERVICE_NS
    assert least_ns < controlled.delivered_ns.max() < 1.5 * least_ns


def test_dcqcn_does_not_change_the_balance_of_the_measured_flow() -> None:
    """SprayCheck "congestion": detection is independent of the sending rate."""
    graph = LeafSpine(num_leaves=4, num_spines=4)
    lossy = LinkLoss(link=Link(0, 1, Direction.UP), drop_frac=0.1)
    flows = (
        *ring(graph, num_packets=20_000, num_qps=2),
        Flow(source_host=2, target_host=1, num_packets=20_000),
    )
    config = SimulatorConfig(
        fabric=FabricConfig(graph=graph, host_gbps=390.0, link_gbps=100.0),
        flows=flows,
        losses=(lossy,),
        dcqcn=Dcqcn(),
    )
    result = simulate(config, 2)
    assert result.notices[0] > 0
    assert result.is_complete
    z = (result.counts[0] - 5_000) / 5_000**0.5
    # The deficit is 0.1 sqrt(5,000) (1 - 1/4) = 5.3; noise below 1.
    assert z[1] < -3
    assert (np.delete(z, 1) > -1).all()


def test_two_equal_senders_share_the_loss_of_a_full_queue() -> None:
    """Ties of time are broken at random: not all loss lands on one (FACTS, htsim)."""
    graph = LeafSpine(num_leaves=3, num_spines=1)
    fabric = FabricConfig(graph=graph, queue_bytes=50_000)
    flows = tuple(
        Flow(source_host=host, target_host=2, num_packets=20_000) for host in range(2)
    )
    result = simulate(SimulatorConfig(fabric=fabric, flows=flows), 1)
    one, other = (int(number) for number in result.overflowed)
    assert one + other > 1_000
    assert 0.8 < one / other < 1.25


def test_reordering_between_paths_that_share_one_spine_is_far_below_the_bound() -> None:
    """SprayCheck 5.4: 31 + 1 spines each of 64, bound 7,573 packets, 100 seen."""
    own = frozenset(Link(0, spine) for spine in range(31))
    others = frozenset(Link(1, spine) for spine in range(32, 64))
    graph = LeafSpine(num_leaves=3, num_spines=64, disabled=own | others)
    fabric = FabricConfig(graph=graph, host_gbps=100.0 * 32)
    flows = tuple(
        Flow(source_host=host, target_host=2, num_packets=30_000, rate_gbps=1_500.0)
        for host in range(2)
    )
    result = simulate(SimulatorConfig(fabric=fabric, flows=flows), 1)
    assert (result.counts[0] > 0).sum() == 33
    assert result.reordering is not None
    assert 0 < result.reordering.max_extent_pkts.max() < 1_000
    in_bins = result.reordering.histogram.sum(axis=1)
    assert (in_bins == 30_000).all()
