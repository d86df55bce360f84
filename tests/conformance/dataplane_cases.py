"""Packet tests that every data plane must pass: packets in, out, and registers.

The switch under test is leaf1 of a fabric of 4 leaves and 4 spines.
"""

from __future__ import annotations

from dataclasses import dataclass

from spraycheck.announcement import Announcement
from spraycheck.dataplane.base import TOP_CLASS, Packet, Registers
from spraycheck.report import ThresholdComputed

LEAF = 1
QP = 17
NONE = (0, 0, 0, 0)
PASS = (False, False, False, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class In:
    """A packet, and the spine that it comes from (None: a host)."""

    packet: Packet
    spine: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """How a packet leaves; which spine is the policy's business."""

    to_host: bool
    marked: bool
    traffic_class: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test; thresholds are written before the packet of that index."""

    description: str
    packets: tuple[In, ...]
    out: tuple[Out | None, ...]
    registers: Registers
    thresholds: tuple[tuple[int, ThresholdComputed], ...] = ()
    num_last_seen: int = 0


def announce(target: int, number: int = 3, *, source: int = LEAF) -> Packet:
    return Packet(
        target_leaf=target,
        dest_qp=QP,
        psn=0,
        announcement=Announcement(
            source_leaf=source, target_leaf=target, dest_qp=QP, first_psn=0,
            num_packets=number, sequence=0,
        ),
    )  # fmt: skip


def data(target: int, psn: int, **fields: int) -> Packet:
    return Packet(
        target_leaf=target,
        dest_qp=fields.get("qp", QP),
        psn=psn,
        marked=bool(fields.get("marked", 0)),
        priority=fields.get("priority", 0),
    )


def limit(pkts: int, last: int, number: int) -> ThresholdComputed:
    return ThresholdComputed(
        dest_qp=QP, threshold_pkts=pkts, first_psn=0, last_psn=last, num_packets=number
    )


def registers(
    counts: tuple[int, ...] = NONE,
    failed: tuple[bool, ...] = PASS,
    is_over: bool = False,
) -> Registers:
    return Registers(counts=counts, failed=failed, is_over=is_over, overflowed=False)


def arrivals(*spines: int, first: int = 0) -> tuple[In, ...]:
    return tuple(
        In(packet=data(LEAF, (first + index) % 2**24, marked=1), spine=spine)
        for index, spine in enumerate(spines)
    )


PLAIN = Out(to_host=False, marked=False, traffic_class=0)
MEASURED = Out(to_host=False, marked=True, traffic_class=TOP_CLASS)
HOST = Out(to_host=True, marked=False, traffic_class=0)
HOST_MARKED = Out(to_host=True, marked=True, traffic_class=0)

CASES = (
    Case(
        description="data that nobody announced is sprayed unmarked",
        packets=(In(packet=data(2, 0)),),
        out=(PLAIN,),
        registers=registers(),
    ),
    Case(
        description="an announced flow is selected, marked and prioritised to its end",
        packets=(
            In(packet=announce(2)),
            *(In(packet=data(2, psn)) for psn in range(3)),
            In(packet=data(2, 0)),
        ),
        out=(PLAIN, MEASURED, MEASURED, MEASURED, PLAIN),
        registers=registers(),
    ),
    Case(
        description="a flow beside the selected one is not marked",
        packets=(
            In(packet=announce(2)),
            In(packet=data(3, 0)),
            In(packet=data(2, 0, qp=QP + 1)),
        ),
        out=(PLAIN, PLAIN, PLAIN),
        registers=registers(),
    ),
    Case(
        description="a mark that a host spoofed is stripped",
        packets=(In(packet=data(2, 0, marked=1)),),
        out=(PLAIN,),
        registers=registers(),
    ),
    Case(
        description="the top class is reserved, other priorities are kept",
        packets=(
            In(packet=data(2, 0, priority=TOP_CLASS)),
            In(packet=data(2, 0, priority=3)),
        ),
        out=(
            Out(to_host=False, marked=False, traffic_class=TOP_CLASS - 1),
            Out(to_host=False, marked=False, traffic_class=3),
        ),
        registers=registers(),
    ),
    Case(
        description="traffic within a leaf is neither sprayed nor counted nor measured",
        packets=(In(packet=announce(LEAF)), In(packet=data(LEAF, 0, marked=1))),
        out=(HOST, HOST),
        registers=registers(),
    ),
    Case(
        description="marked packets are counted by spine, before any threshold",
        packets=arrivals(0, 0, 2, 3),
        out=(HOST_MARKED,) * 4,
        registers=registers((2, 0, 1, 1)),
    ),
    Case(
        description="unmarked packets are delivered and not counted",
        packets=(In(packet=data(LEAF, 0), spine=2),),
        out=(HOST,),
        registers=registers(),
    ),
    Case(
        description="the last packet compares: below the threshold a path fails",
        packets=arrivals(0, 0, 1, 1, 2, 3, 3),
        thresholds=((0, limit(2, 6, 7)),),
        out=(HOST_MARKED,) * 7,
        registers=registers((2, 2, 1, 2), (False, False, True, False), True),
        num_last_seen=1,
    ),
    Case(
        description="a threshold written during the flow serves as well",
        packets=arrivals(0, 0, 1, 1, 2, 3, 3),
        thresholds=((4, limit(2, 6, 7)),),
        out=(HOST_MARKED,) * 7,
        registers=registers((2, 2, 1, 2), (False, False, True, False), True),
        num_last_seen=1,
    ),
    Case(
        description="a threshold written after the flow compares at once",
        packets=arrivals(0, 0, 1, 1, 2, 3, 3),
        thresholds=((7, limit(2, 6, 7)),),
        out=(HOST_MARKED,) * 7,
        registers=registers((2, 2, 1, 2), (False, False, True, False), True),
    ),
    Case(
        description="sequence numbers wrap in mid-flow",
        packets=arrivals(0, 1, 2, 3, first=2**24 - 2),
        thresholds=((2, limit(1, 1, 4)),),
        out=(HOST_MARKED,) * 4,
        registers=registers((1, 1, 1, 1), PASS, True),
        num_last_seen=1,
    ),
    Case(
        description="without its last packet a flow is not compared",
        packets=arrivals(0, 1, 2),
        thresholds=((0, limit(1, 3, 4)),),
        out=(HOST_MARKED,) * 3,
        registers=registers((1, 1, 1, 0)),
    ),
    Case(
        description="a last packet that comes again unmarked still ends the flow",
        packets=(*arrivals(0, 1, 2), In(packet=data(LEAF, 3), spine=3)),
        thresholds=((0, limit(1, 3, 4)),),
        out=(*(HOST_MARKED,) * 3, HOST),
        registers=registers((1, 1, 1, 0), (False, False, False, True), True),
        num_last_seen=1,
    ),
    Case(
        description="a packet for another leaf has no route down",
        packets=(In(packet=data(2, 0, marked=1), spine=0),),
        out=(None,),
        registers=registers(),
    ),
)
