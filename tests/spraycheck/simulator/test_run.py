"""Both kernels conserve packets, agree where they overlap, and repeat by seed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spraycheck.dataplane.spray import POLICIES
from spraycheck.errors import SimulationError
from spraycheck.simulator.config import (
    Dcqcn,
    FabricConfig,
    Flow,
    LinkDelay,
    SimulatorConfig,
)
from spraycheck.simulator.loss import LinkLoss, black_hole
from spraycheck.simulator.result import SimulationResult
from spraycheck.simulator.run import Simulation, simulate, why_not_stream
from spraycheck.simulator.traffic import ring
from tests.repo.source import ROOT
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

LEAVES, SPINES = 3, 4
GRAPH = LeafSpine(num_leaves=LEAVES, num_spines=SPINES)
links = st.builds(
    Link,
    st.integers(0, LEAVES - 1),
    st.integers(0, SPINES - 1),
    st.sampled_from(Direction),
)
losses = st.lists(
    st.builds(
        LinkLoss,
        link=links,
        drop_frac=st.sampled_from([0.001, 0.05, 0.5]),
        mean_burst_pkts=st.sampled_from([1.0, 4.0]),
        min_bytes=st.sampled_from([0, 2_000]),
        from_ns=st.sampled_from([0, 30_000]),
    ),
    max_size=3,
    unique_by=lambda loss: loss.link,
).map(tuple)
fabrics = st.builds(
    FabricConfig,
    graph=st.sampled_from(
        [GRAPH, dataclasses.replace(GRAPH, disabled=frozenset({Link(0, 1)}))]
    ),
    policy=st.sampled_from(POLICIES),
    host_gbps=st.sampled_from([100.0, 360.0, 400.0, 700.0]),
    queue_bytes=st.sampled_from([15_000, 10_000_000]),
    prioritize=st.booleans(),
)


def flows(num: int, *, apart: bool) -> st.SearchStrategy[tuple[Flow, ...]]:
    """`num` flows; `apart`: of a ring, each alone on its links."""
    hosts = st.integers(0, LEAVES - 1)
    shapes = st.sampled_from([(1, "smooth"), (7, "smooth"), (1, "poisson")])

    def flow(number: int) -> st.SearchStrategy[Flow]:
        source = st.just(number) if apart else hosts
        shift = st.just(1) if apart else st.integers(1, LEAVES - 1)
        return st.builds(
            lambda source, shift, shape, **fields: Flow(
                source_host=source,
                target_host=(source + shift) % LEAVES,
                burst_pkts=shape[0],
                arrivals=shape[1],
                **fields,
            ),
            source,
            shift,
            shapes,
            num_packets=st.integers(1, 400),
            packet_bytes=st.sampled_from([64, 4154]),
            start_ns=st.sampled_from([0, 20_000]),
            rate_gbps=st.sampled_from([None, 60.0]),
            measured=st.booleans(),
            after=st.just(()) if apart or not number else st.sampled_from([(), (0,)]),
        )

    return st.tuples(*(flow(number) for number in range(num)))


def check_conserved(result: SimulationResult) -> None:
    gone = result.delivered + result.lost + result.overflowed
    assert (result.sent == gone + result.in_flight).all()
    assert (result.in_flight >= 0).all()
    assert result.num_in_network == result.in_flight.sum()
    # What a host's full queue drops was counted before.
    counted = result.counts.sum(axis=1)
    assert (result.delivered <= counted).all()
    assert (counted <= result.delivered + result.overflowed).all()
    assert (result.retransmitted <= result.lost + result.overflowed).all()


@settings(max_examples=120)
@given(
    fabric=fabrics,
    flows=flows(4, apart=False),
    losses=losses,
    dcqcn=st.sampled_from([None, Dcqcn()]),
    pauses=st.lists(st.integers(1, 400_000), max_size=3).map(sorted),
    seed=st.integers(0, 2**64 - 1),
)
def test_every_packet_is_delivered_dropped_or_in_flight_at_any_moment(
    fabric: FabricConfig,
    flows: tuple[Flow, ...],
    losses: tuple[LinkLoss, ...],
    dcqcn: Dcqcn | None,
    pauses: list[int],
    seed: int,
) -> None:
    losses = tuple(loss for loss in losses if loss.link.spine != 1)
    config = SimulatorConfig(
        fabric=fabric,
        flows=flows,
        losses=losses,
        dcqcn=dcqcn,
        limit_ns=1_000_000_000,
    )
    simulation = Simulation(config, seed)
    for pause in pauses:
        simulation.advance(pause)
        check_conserved(simulation.result())
    assert simulation.advance(config.limit_ns)
    result = simulation.result()
    check_conserved(result)
    assert result.is_complete
    assert result.num_in_network == 0
    assert (result.delivered == [flow.num_packets for flow in flows]).all()
    at_once = simulate(config, seed, kernel="events")
    assert (result.counts == at_once.counts).all()
    assert (result.counted_ns == at_once.counted_ns).all()


@settings(max_examples=120)
@given(
    fabric=fabrics,
    flows=flows(3, apart=True),
    losses=losses,
    seed=st.integers(0, 1_000),
    retransmit_after_ns=st.sampled_from([0, 5_000, 50_000]),
)
def test_both_kernels_give_the_same_packets(
    fabric: FabricConfig,
    flows: tuple[Flow, ...],
    losses: tuple[LinkLoss, ...],
    seed: int,
    retransmit_after_ns: int,
) -> None:
    losses = tuple(loss for loss in losses if loss.link.spine != 1)
    config = SimulatorConfig(
        # Full queues at hosts are what `stream` leaves out.
        fabric=dataclasses.replace(fabric, queue_bytes=10_000_000),
        flows=flows,
        losses=losses,
        # A packet is found lost when it is, not before it was sent.
        retransmit_after_ns=retransmit_after_ns + 5_000,
    )
    fast = simulate(config, seed, kernel="stream")
    full = simulate(config, seed, kernel="events")
    for name in ("counts", "sent", "delivered", "lost", "overflowed", "retransmitted"):
        assert (getattr(fast, name) == getattr(full, name)).all(), name
    assert (fast.counted_ns == full.counted_ns).all()
    for one, other in ((fast.up, full.up), (fast.down, full.down)):
        assert (one.num_packets == other.num_packets).all()
        assert (one.max_bytes == other.max_bytes).all()
        np.testing.assert_array_equal(one.mean_wait_ns, other.mean_wait_ns)
    assert simulate(config, seed).kernel == "stream"


def one_flow(num_packets: int, **fields: object) -> SimulatorConfig:
    fabric = FabricConfig(graph=LeafSpine(num_leaves=2, num_spines=4), host_gbps=360.0)
    flow = Flow(source_host=0, target_host=1, num_packets=num_packets, measured=True)
    return SimulatorConfig(fabric=fabric, flows=(flow,), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["stream", "events"])
def test_a_seed_gives_these_counts_on_every_machine(kernel: str) -> None:
    lossy = LinkLoss(link=Link(0, 2, Direction.UP), drop_frac=0.01)
    config = one_flow(10_000, losses=(lossy,))
    assert simulate(config, 7, kernel=kernel).counts.tolist() == GOLDEN
    assert simulate(config, 8, kernel=kernel).counts.tolist() != GOLDEN


GOLDEN = [[2514, 2474, 2489, 2523]]


def test_memory_does_not_grow_with_the_number_of_packets() -> None:
    sizes = {
        simulate(one_flow(num), 1, kernel="events").state_bytes
        for num in (1_000, 100_000)
    }
    assert len(sizes) == 1


def test_more_packets_in_flight_than_records_make_room() -> None:
    graph = LeafSpine(num_leaves=2, num_spines=2)
    fabric = FabricConfig(graph=graph, host_gbps=2_000.0, queue_bytes=10**9)
    flow = Flow(source_host=0, target_host=1, num_packets=5_000)
    result = simulate(SimulatorConfig(fabric=fabric, flows=(flow,)), 1, kernel="events")
    assert result.is_complete
    assert result.up.max_bytes[0].min() > 1024 * 4154


def test_a_black_hole_loses_its_share_and_the_rest_is_sprayed_again() -> None:
    hole = black_hole(Link(1, 3, Direction.DOWN))
    result = simulate(one_flow(20_000, losses=(hole,)), 3)
    assert result.counts[0, 3] == 0
    assert result.is_complete
    assert result.retransmitted == result.lost > 20_000 / 4


def test_a_loss_has_its_time_and_its_size() -> None:
    gone = LinkLoss(link=Link(0, 0, Direction.UP), drop_frac=1.0, until_ns=20_000)
    big = LinkLoss(link=Link(0, 1, Direction.UP), drop_frac=1.0, min_bytes=5_000)
    result = simulate(one_flow(20_000, losses=(gone, big)), 3)
    assert 0 < result.lost[0] < 100  # 20 us of 462, of one link of four
    assert (result.counts > 4_900).all()


def test_bursty_loss_keeps_its_rate_and_comes_in_runs() -> None:
    link = Link(0, 0, Direction.UP)
    lost = {
        length: np.array(
            [
                simulate(
                    one_flow(
                        20_000,
                        losses=(
                            LinkLoss(link=link, drop_frac=0.02, mean_burst_pkts=length),
                        ),
                    ),
                    seed,
                ).lost[0]
                for seed in range(60)
            ]
        )
        for length in (1.0, 8.0)
    }
    # 5,000 packets on the link: 100 lost, sd 10 alone, about 39 in runs of 8.
    assert lost[1.0].mean() == pytest.approx(100, abs=5)
    assert lost[8.0].mean() == pytest.approx(100, abs=20)
    assert 8 < lost[1.0].std() < 13
    assert 28 < lost[8.0].std() < 52


def test_disabled_links_leave_the_routing_and_the_others_carry_more() -> None:
    graph = LeafSpine(
        num_leaves=2, num_spines=4, disabled=frozenset({Link(0, 1), Link(1, 2)})
    )
    config = one_flow(1_000)
    fabric = dataclasses.replace(config.fabric, graph=graph)
    counts = simulate(dataclasses.replace(config, fabric=fabric), 1).counts[0]
    assert counts[1] == counts[2] == 0
    assert counts[[0, 3]].tolist() == pytest.approx([500, 500], abs=60)


def test_a_longer_link_delays_its_packets_only() -> None:
    slow = LinkDelay(link=Link(0, 1, Direction.UP), extra_ns=7_000)
    config = one_flow(1_000, trace_packets=1_000)
    longer = dataclasses.replace(config.fabric, delays=(slow,))
    plain = simulate(config, 1)
    late = simulate(dataclasses.replace(config, fabric=longer), 1)
    assert (plain.counts == late.counts).all()
    assert plain.arrivals is not None
    assert late.arrivals is not None
    by_seq = np.argsort(plain.arrivals.seq), np.argsort(late.arrivals.seq)
    wait = late.arrivals.at_ns[by_seq[1]] - plain.arrivals.at_ns[by_seq[0]]
    over_slow = plain.arrivals.spine[by_seq[0]] == 1
    assert wait[over_slow] == pytest.approx(7_000)
    assert wait[~over_slow] == pytest.approx(0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"dcqcn": Dcqcn()}, "dcqcn"),
        ({"trace_packets": 1}, "trace_packets"),
        ({"flows": ring(GRAPH, num_packets=5)}, "leaf0 has 2 flows by source_host"),
    ],
)
def test_the_fast_kernel_says_what_it_cannot_do(
    change: dict[str, object], why: str
) -> None:
    config = SimulatorConfig(
        fabric=FabricConfig(graph=GRAPH), flows=ring(GRAPH, num_packets=5, num_qps=1)
    )
    assert why_not_stream(config) is None
    changed = dataclasses.replace(config, **change)  # type: ignore[arg-type]
    assert why_not_stream(changed) == why
    with pytest.raises(SimulationError, match=f"kernel is 'stream'.*{why}"):
        simulate(changed, 1, kernel="stream")
    assert simulate(changed, 1).kernel == "events"


@pytest.mark.parametrize(
    ("seed", "kernel", "message"),
    [
        (-1, "auto", "seed is -1; allowed: 0.."),
        (1 << 64, "events", "seed is 18446744073709551616"),
        (1, "fast", "kernel is 'fast'; allowed: auto, stream, events"),
    ],
)
def test_an_unknown_seed_or_kernel_is_named(
    seed: int, kernel: str, message: str
) -> None:
    with pytest.raises(SimulationError, match=message):
        simulate(one_flow(1), seed, kernel=kernel)


@pytest.mark.parametrize(
    "statement",
    [
        "import spraycheck.simulator",
        "from spraycheck.simulator import FabricConfig, Flow, LinkLoss, ring",
        "from spraycheck.simulator import Sprayed, simulate, spray_counts",
    ],
)
def test_numba_is_imported_by_the_first_simulation_only(statement: str) -> None:
    code = f"{statement}; import sys; sys.exit('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
