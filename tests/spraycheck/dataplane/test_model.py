"""The model switch with controller and monitor: from packets to a verdict."""

from __future__ import annotations

from random import Random

import pytest

from spraycheck.announcement import Announcement
from spraycheck.control import ControlConfig, LeafController
from spraycheck.dataplane.base import AnnouncementSeen, LastPacketSeen, Packet
from spraycheck.dataplane.model import ModelLeaf
from spraycheck.dataplane.spray import Sprayer
from spraycheck.errors import ReportError
from spraycheck.monitor import Monitor
from spraycheck.report import ControlEvent, FlowClosed, PathsReported, ThresholdComputed
from vocab.events import VerdictIssued
from vocab.graph import LeafSpine
from vocab.names import Direction, Link
from vocab.verdict import Verdict

GRAPH = LeafSpine(num_leaves=3, num_spines=4)
# 100 Gbit/s uplinks, one 4154-byte packet each 83 ns: four uplinks are 100 % loaded.
GAP_NS = 84
NUM_PACKETS = 2_000


class Fabric:
    """Three model leaves with controllers, a monitor, and links that drop packets."""

    def __init__(self, drop: dict[Link, float], policy: str = "jsq2") -> None:
        self.rng = Random(5)
        self.drop = drop
        config = ControlConfig(
            sensitivity=lambda k: 2.0, min_packets_per_spine=NUM_PACKETS // 4
        )
        self.leaves = [
            ModelLeaf(
                leaf=leaf,
                graph=GRAPH,
                sprayer=Sprayer(
                    policy=policy, num_spines=4, rate_gbps=100, rng=Random(leaf)
                ),
            )
            for leaf in range(3)
        ]
        self.controls = [
            LeafController(leaf=leaf, graph=GRAPH, config=config) for leaf in range(3)
        ]
        self.monitor = Monitor(graph=GRAPH)
        self.verdicts: list[Verdict] = []
        self.reports: list[PathsReported] = []
        self.now_ns = 0

    def send(self, source: int, packet: Packet) -> None:
        """Carry a packet to its leaf; lost ones are sprayed again until they arrive."""
        while True:
            self.now_ns += GAP_NS
            left = self.leaves[source].receive(packet, None, self.now_ns)
            assert left is not None
            assert left.spine is not None
            up = Link(source, left.spine, Direction.UP)
            down = Link(packet.target_leaf, left.spine, Direction.DOWN)
            losses = (self.drop.get(up, 0.0), self.drop.get(down, 0.0))
            if all(self.rng.random() >= loss for loss in losses):
                break
        self.leaves[packet.target_leaf].receive(left.packet, left.spine, self.now_ns)
        self.run_agent(packet.target_leaf)

    def run_agent(self, leaf: int) -> None:
        """What the agent of a leaf does with digests."""
        plane, control = self.leaves[leaf], self.controls[leaf]
        for digest in plane.drain():
            if isinstance(digest, AnnouncementSeen):
                events = control.on_announcement(digest.announcement, self.now_ns)
            else:
                assert isinstance(digest, LastPacketSeen)
                counts = plane.read(digest.dest_qp).counts
                events = control.on_last_psn(digest.dest_qp, counts, self.now_ns)
            for event in events:
                self.carry_out(leaf, event)

    def carry_out(self, leaf: int, event: ControlEvent) -> None:
        if isinstance(event, ThresholdComputed):
            self.leaves[leaf].write_threshold(event)
        elif isinstance(event, FlowClosed):
            self.leaves[leaf].clear(event.dest_qp)
        elif isinstance(event, PathsReported):
            self.reports.append(event)
            news = self.monitor.on_report(event, self.now_ns)
            self.verdicts += [n.verdict for n in news if isinstance(n, VerdictIssued)]

    def flow(self, source: int, target: int, sequence: int) -> None:
        qp, first = 16 * source + target, (2**24 - 100) + sequence * NUM_PACKETS
        announcement = Announcement(
            source_leaf=source, target_leaf=target, dest_qp=qp,
            first_psn=first % 2**24, num_packets=NUM_PACKETS, sequence=sequence,
        )  # fmt: skip
        self.send(
            source,
            Packet(target_leaf=target, dest_qp=qp, psn=0, announcement=announcement),
        )
        for index in range(NUM_PACKETS):
            psn = (first + index) % 2**24
            self.send(source, Packet(target_leaf=target, dest_qp=qp, psn=psn))


@pytest.mark.parametrize(
    ("bad", "flows"),
    [
        (Link(1, 2, Direction.UP), [(1, 0), (2, 0)]),
        (Link(1, 2, Direction.DOWN), [(0, 1), (0, 2)]),
    ],
    ids=["up", "down"],
)
def test_a_lossy_link_is_named_from_its_packets(
    bad: Link, flows: list[tuple[int, int]]
) -> None:
    """A flow over the link, and one that exonerates the other link of its path."""
    fabric = Fabric({bad: 0.5})
    for sequence in range(4):
        for source, target in flows:
            fabric.flow(source, target, sequence)
    assert [verdict.blamed for verdict in fabric.verdicts] == [(str(bad),)]
    assert all(control.state_size().num_flows == 0 for control in fabric.controls)


def test_a_healthy_fabric_is_silent_and_jsq_is_quieter_than_random() -> None:
    spread = {}
    for policy in ("jsq2", "random"):
        fabric = Fabric({}, policy)
        fabric.flow(0, 1, 0)
        (report,) = fabric.reports
        spread[policy] = max(abs(item.z) for item in report.result.spines)
        if policy == "jsq2":
            assert report.result.failed == ()
            assert fabric.verdicts == []
    assert spread["jsq2"] < spread["random"]


def test_a_counter_of_sixteen_bits_wraps_and_says_so() -> None:
    leaf = ModelLeaf(
        leaf=1,
        graph=GRAPH,
        sprayer=Sprayer(policy="random", num_spines=4, rate_gbps=1, rng=Random(0)),
        counter_bits=16,
    )
    packet = Packet(target_leaf=1, dest_qp=7, psn=0, marked=True)
    for _ in range(1 << 16):
        leaf.receive(packet, 0, 0)
    found = leaf.read(7)
    assert (found.counts, found.overflowed) == ((0, 0, 0, 0), True)


def test_a_packet_from_an_unknown_spine_is_a_named_error() -> None:
    leaf = Fabric({}).leaves[0]
    with pytest.raises(ReportError, match="spine4 is not in the fabric; allowed: "):
        leaf.receive(Packet(target_leaf=0, dest_qp=1, psn=0), 4, 0)
