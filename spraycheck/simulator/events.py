"""The full kernel: every packet through every queue, one event at a time.

Called by `run` where flows share ports, DCQCN reacts, or arrivals are of interest.

    SEND host      spray · join the uplink's queue
    SERVE port     (two classes only) the next packet leaves the uplink's queue
    AT_SPINE       join the downlink's queue
    AT_LEAF        count · look for reordering · join the host's queue · deliver
    NOTICE flow    (DCQCN) its sender hears of a marked packet

A packet that a link loses has used the link; it is sent again by its host.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spraycheck.simulator.classes import WAITS, join_class, next_of_port
from spraycheck.simulator.dcqcn import cut_rate, is_marked, is_notified
from spraycheck.simulator.draws import LOSE_DOWN, LOSE_UP, SPRAY, draw
from spraycheck.simulator.heap import (
    AT_LEAF,
    AT_SPINE,
    NOTICE,
    SEND,
    SERVE,
    give_back,
    has_room,
    kind_of,
    next_time,
    pop,
    push,
    subject_of,
)
from spraycheck.simulator.hosts import lose, rouse, send
from spraycheck.simulator.jit import kernel, part, unowned
from spraycheck.simulator.ports import (
    ALL,
    OVERFLOWED,
    OWN,
    VIRTUAL,
    choose,
    is_lost,
    join,
    queued_bytes,
)
from spraycheck.simulator.world import NONE, NUM_BINS, Record, Records, World

DONE, PAUSED, FULL = range(3)


@kernel
def start(world: World) -> None:
    """Schedule the first packet of every host."""
    for host in range(len(world.hosts)):
        rouse(
            world.fabric[0], world.hosts, world.flows, world.host_flows, world.packets,
            world.heap, host,
        )  # fmt: skip


@kernel
def advance(world: World, until: int) -> int:
    """Handle all events up to `until` ps. DONE, PAUSED there, or FULL: grow first."""
    fabric, hosts, ports = world.fabric[0], unowned(world.hosts), unowned(world.ports)
    flows, packets, heap = (
        unowned(world.flows), unowned(world.packets), unowned(world.heap),
    )  # fmt: skip
    leaves, usable, trace = (
        unowned(world.leaves), unowned(world.usable), unowned(world.trace),
    )  # fmt: skip
    counts, extents = unowned(world.counts), unowned(world.extents)
    host_flows, waiters = unowned(world.host_flows), unowned(world.waiters)
    while fabric["heap_size"] > 0:
        if not has_room(fabric, packets, heap, len(flows)):
            return FULL
        now = next_time(heap)
        if now > until:
            return PAUSED
        event = pop(fabric, heap)
        kind, number = kind_of(event), subject_of(event)
        is_gone, idle = False, NONE  # idle: a host that may send something next
        if kind == SEND:
            if hosts[number]["wake"] != now:
                continue  # an earlier time was found meanwhile
            idle, number = number, send(fabric, hosts[number], flows, packets)
            is_gone = _spray(
                fabric, leaves, ports, flows, usable, packets, heap, number
            )
        elif kind == SERVE:
            port = number
            number = next_of_port(fabric, ports, port, flows, packets, heap, now)
            is_gone = _go_up(fabric, ports[port], flows, packets, heap, number)
        elif kind == AT_SPINE:
            is_gone = _go_down(fabric, ports, flows, packets, heap, number, now)
        elif kind == NOTICE:
            cut_rate(fabric, flows[number], now)
        else:
            packet = packets[number]
            flow = flows[packet["flow"]]
            counts[packet["flow"], packet["spine"]] += 1
            extents[packet["flow"], _late_bin(flow, packet, now)] += 1
            _trace(fabric, packet, trace, now)
            is_gone = _deliver(fabric, ports, flow, packets, heap, number, now)
            if flow["num_waiters"] and not is_gone:
                _release(fabric, hosts, flows, host_flows, waiters, packets, heap, flow)
        idle = flows[packets[number]["flow"]]["source_host"] if is_gone else idle
        if idle != NONE:
            rouse(fabric, hosts, flows, host_flows, packets, heap, idle)
    return DONE


@part
def _spray(
    fabric: Record,
    leaves: Records,
    ports: Records,
    flows: Records,
    usable: NDArray[np.int64],
    packets: Records,
    heap: Records,
    number: int,
) -> bool:
    """The packet reaches its leaf. True: it is lost already."""
    packet = packets[number]
    flow, now = flows[packet["flow"]], packet["sent_at"]
    leaf = leaves[flow["source_leaf"]]
    first = flow["source_leaf"] * fabric["num_spines"]
    sees = ALL
    if leaf["two_classes"] and flow["is_high"]:
        sees = VIRTUAL if fabric["sees_virtual"] else OWN
    spine = choose(
        fabric["policy"], ports, first, usable[packet["flow"]], flow["num_usable"],
        sees, now, draw(flow["key"], packet["index"], SPRAY), leaf["turn"],
    )  # fmt: skip
    leaf["turn"] += 1
    packet["spine"] = spine
    port = first + spine
    _mark(fabric, ports[port], flow, packet, port, now)
    if leaf["two_classes"]:
        left = join_class(fabric, ports, port, flow, packets, number, heap)
        if left == WAITS:
            return False
    else:
        left = join(ports[port], now, flow["packet_bytes"], fabric["queue_bytes"])
    if left == OVERFLOWED:
        return _overflow(fabric, flow, packets, number, now)
    return _go_up(fabric, ports[port], flows, packets, heap, number)


@part
def _go_up(
    fabric: Record,
    port: Record,
    flows: Records,
    packets: Records,
    heap: Records,
    number: int,
) -> bool:
    """Over the uplink, as the last packet that its port has taken into service."""
    left, packet = port["free_at"], packets[number]
    flow = flows[packet["flow"]]
    bits = draw(flow["key"], packet["index"], LOSE_UP)
    if is_lost(port, left, flow["packet_bytes"], bits):
        flow["num_lost"] += 1
        lose(fabric, flow, packets, number, left)
        return True
    push(fabric, heap, left + port["delay"], AT_SPINE, number)
    return False


@part
def _go_down(
    fabric: Record,
    ports: Records,
    flows: Records,
    packets: Records,
    heap: Records,
    number: int,
    now: int,
) -> bool:
    """The packet reaches its spine, and goes down to its target leaf."""
    packet = packets[number]
    flow = flows[packet["flow"]]
    target = fabric["num_leaves"] + flow["target_leaf"]
    at = target * fabric["num_spines"] + packet["spine"]
    port, size = ports[at], flow["packet_bytes"]
    _mark(fabric, port, flow, packet, at, now)
    left = join(port, now, size, fabric["queue_bytes"])
    if left == OVERFLOWED:
        return _overflow(fabric, flow, packets, number, now)
    if is_lost(port, left, size, draw(flow["key"], packet["index"], LOSE_DOWN)):
        flow["num_lost"] += 1
        lose(fabric, flow, packets, number, left)
        return True
    push(fabric, heap, left + port["delay"], AT_LEAF, number)
    return False


@part
def _late_bin(flow: Record, packet: Record, now: int) -> int:
    """Where in the histogram: how far the packet was overtaken at its target leaf.

    Extent: how far behind the highest sequence number seen (RFC 4737 sec. 4.2.2).
    Packets sent again are late for another reason; they get the last bin.
    """
    flow["counted_at"] = now
    if packet["resent"]:
        return NUM_BINS - 1
    extent = flow["highest_seq"] - packet["seq"]
    if extent < 0:
        flow["highest_seq"] = packet["seq"]
        return 0
    flow["max_extent"] = max(flow["max_extent"], extent)
    bin_number = 0
    while extent > 0:
        extent >>= 1
        bin_number += 1
    return min(bin_number, NUM_BINS - 2)


@part
def _trace(fabric: Record, packet: Record, trace: Records, now: int) -> None:
    if fabric["num_traced"] == len(trace):
        return
    row = trace[fabric["num_traced"]]
    fabric["num_traced"] += 1
    row["at"] = now
    row["flow"] = packet["flow"]
    row["seq"] = packet["seq"]
    row["spine"] = packet["spine"]


@part
def _deliver(
    fabric: Record,
    ports: Records,
    flow: Record,
    packets: Records,
    heap: Records,
    number: int,
    now: int,
) -> bool:
    """From the leaf to the host; True: its queue was full."""
    num_links = 2 * fabric["num_leaves"] * fabric["num_spines"]
    at = num_links + flow["target_host"]
    port, packet = ports[at], packets[number]
    _mark(fabric, port, flow, packet, at, now)
    left = join(port, now, flow["packet_bytes"], fabric["queue_bytes"])
    if left == OVERFLOWED:
        return _overflow(fabric, flow, packets, number, now)
    reached = left + port["delay"]
    if packet["marked"] and is_notified(fabric, flow, reached):
        push(fabric, heap, reached + fabric["feedback"], NOTICE, packet["flow"])
    flow["num_delivered"] += 1
    flow["delivered_at"] = max(flow["delivered_at"], reached)
    give_back(fabric, packet, number)
    return False


@part
def _release(
    fabric: Record,
    hosts: Records,
    flows: Records,
    host_flows: NDArray[np.int64],
    waiters: NDArray[np.int64],
    packets: Records,
    heap: Records,
    flow: Record,
) -> None:
    """Start the flows that have waited for this one, if it is complete."""
    if flow["num_delivered"] < flow["num_packets"]:
        return
    for i in range(flow["num_waiters"]):
        waiter = flows[waiters[flow["first_waiter"] + i]]
        waiter["num_blockers"] -= 1
        first = flow["delivered_at"] + waiter["first_ps"]
        waiter["next_send"] = max(waiter["next_send"], first)
        host = waiter["source_host"]
        rouse(fabric, hosts, flows, host_flows, packets, heap, host)


@part
def _mark(
    fabric: Record, port: Record, flow: Record, packet: Record, number: int, now: int
) -> None:
    if fabric["dcqcn"]:
        key = flow["key"] ^ np.uint64(number)
        if is_marked(fabric, queued_bytes(port, now), key, packet["index"]):
            packet["marked"] = 1


@part
def _overflow(
    fabric: Record, flow: Record, packets: Records, number: int, now: int
) -> bool:
    flow["num_overflowed"] += 1
    lose(fabric, flow, packets, number, now)
    return True
