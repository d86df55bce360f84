"""Every data plane gives the same marks, classes, counts and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from spraycheck.dataplane.base import AnnouncementSeen, LastPacketSeen, LeafDataPlane
from spraycheck.dataplane.model import ModelLeaf
from spraycheck.dataplane.plain import PlainLeaf
from spraycheck.dataplane.spray import Sprayer
from tests.conformance.dataplane_cases import CASES, LEAF, QP, Case, Out, announce
from vocab.graph import LeafSpine

GRAPH = LeafSpine(num_leaves=4, num_spines=4)


def sprayer() -> Sprayer:
    return Sprayer(policy="jsq2", num_spines=4, rate_gbps=100, rng=Random(1))


def model() -> LeafDataPlane:
    return ModelLeaf(leaf=LEAF, graph=GRAPH, sprayer=sprayer())


def plain() -> LeafDataPlane:
    return PlainLeaf(leaf=LEAF, graph=GRAPH, sprayer=sprayer())


DATA_PLANES: dict[str, Callable[[], LeafDataPlane]] = {"model": model}
FORWARDERS = {**DATA_PLANES, "plain": plain}


@pytest.fixture(params=sorted(DATA_PLANES))
def plane(request: pytest.FixtureRequest) -> LeafDataPlane:
    return DATA_PLANES[request.param]()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.description)
def test_packets_leave_and_registers_stand_as_specified(
    plane: LeafDataPlane, case: Case
) -> None:
    out: list[Out | None] = []
    writes = dict(case.thresholds)
    for index, arrival in enumerate(case.packets):
        if index in writes:
            plane.write_threshold(writes[index])
        left = plane.receive(arrival.packet, arrival.spine, index * 1_000)
        out.append(
            None
            if left is None
            else Out(
                to_host=left.spine is None,
                marked=left.packet.marked,
                traffic_class=left.traffic_class,
            )
        )
    if len(case.packets) in writes:
        plane.write_threshold(writes[len(case.packets)])
    assert tuple(out) == case.out
    assert plane.read(QP) == case.registers
    ends = [item for item in plane.drain() if isinstance(item, LastPacketSeen)]
    assert ends == [LastPacketSeen(dest_qp=QP)] * case.num_last_seen


@pytest.mark.parametrize("name", sorted(FORWARDERS))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.description)
def test_packets_take_the_same_routes_with_and_without_measurement(
    name: str, case: Case
) -> None:
    plane = FORWARDERS[name]()
    for arrival, wanted in zip(case.packets, case.out, strict=True):
        left = plane.receive(arrival.packet, arrival.spine, 0)
        assert (left is None) == (wanted is None)
        if left is not None and wanted is not None:
            assert (left.spine is None) == wanted.to_host


def test_a_switch_without_measurement_counts_and_reports_nothing() -> None:
    plane = plain()
    for case in CASES:
        for arrival in case.packets:
            plane.receive(arrival.packet, arrival.spine, 0)
    assert plane.drain() == ()
    assert sum(plane.read(QP).counts) == 0


def test_an_announcement_carries_the_leaf_that_its_sender_hangs_on(
    plane: LeafDataPlane,
) -> None:
    left = plane.receive(announce(2, source=3), None, 0)
    assert left is not None
    assert left.packet.announcement is not None
    assert left.packet.announcement.source_leaf == LEAF


def test_announcements_to_this_leaf_are_handed_up_once(plane: LeafDataPlane) -> None:
    packet = announce(LEAF, source=0)
    plane.receive(packet, 2, 0)
    assert packet.announcement is not None
    assert plane.drain() == (AnnouncementSeen(announcement=packet.announcement),)
    assert plane.drain() == ()


def test_a_cleared_queue_pair_is_as_if_it_had_never_been(plane: LeafDataPlane) -> None:
    untouched = plane.read(QP)
    for arrival in CASES[8].packets:
        plane.receive(arrival.packet, arrival.spine, 0)
    assert plane.read(QP) != untouched
    plane.clear(QP)
    assert plane.read(QP) == untouched
