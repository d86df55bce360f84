"""Uplinks of a leaf that sends a measured flow beside others: two classes (kernels).

Called by `events`. Strict priority without preemption: a packet in service is finished
first (SprayCheck "prioritization"). The queues are lists of packet records.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from spraycheck.simulator.heap import SERVE, push
from spraycheck.simulator.jit import part
from spraycheck.simulator.ports import (
    ALL,
    OVERFLOWED,
    OWN,
    backlog,
    note_backlog,
    note_wait,
    service_ps,
)
from spraycheck.simulator.world import NONE, Record, Records

WAITS = -2


@part
def join_class(
    fabric: Record,
    ports: Records,
    number: int,
    flow: Record,
    packets: Records,
    packet: int,
    heap: Records,
) -> int:
    """Queue a packet: when it has left if served at once, else WAITS or OVERFLOWED."""
    port, now = ports[number], packets[packet]["sent_at"]
    size = flow["packet_bytes"]
    # Each class has room of its own: others' packets cannot push out measured ones.
    own = backlog(port, OWN, now)
    if not flow["is_high"]:
        own = backlog(port, ALL, now) - own
    if own / port["byte_ps"] + size > fabric["queue_bytes"]:
        return OVERFLOWED
    service = service_ps(port, size)
    if flow["is_high"]:
        port["virtual_at"] = max(port["virtual_at"], now) + service
    waiting = port["wait_low"] + port["wait_high"]
    busy = max(0, port["free_at"] - now)
    note_backlog(port, busy + waiting + service)
    if not busy and not waiting:
        return _serve(port, flow, packets[packet], now)
    if not port["serve_due"]:
        port["serve_due"] = 1
        push(fabric, heap, port["free_at"], SERVE, number)
    if flow["is_high"]:
        port["wait_high"] += service
        tail = port["tail_high"]
        port["tail_high"] = packet
        if tail == NONE:
            port["head_high"] = packet
    else:
        port["wait_low"] += service
        tail = port["tail_low"]
        port["tail_low"] = packet
        if tail == NONE:
            port["head_low"] = packet
    if tail != NONE:
        packets[tail]["next"] = packet
    return WAITS


@part
def next_of_port(
    fabric: Record,
    ports: Records,
    number: int,
    flows: Records,
    packets: Records,
    heap: Records,
    now: int,
) -> int:
    """The port is free: serve the next packet, and return it."""
    port = ports[number]
    packet = port["head_high"]
    high = packet != NONE
    if not high:
        packet = port["head_low"]
    row = packets[packet]
    after, flow = row["next"], flows[row["flow"]]
    service = service_ps(port, flow["packet_bytes"])
    if high:
        port["wait_high"] -= service
        port["head_high"] = after
        if after == NONE:
            port["tail_high"] = NONE
    else:
        port["wait_low"] -= service
        port["head_low"] = after
        if after == NONE:
            port["tail_low"] = NONE
    row["next"] = NONE
    depart = _serve(port, flow, row, now)
    more = port["head_high"] != NONE or port["head_low"] != NONE
    port["serve_due"] = 1 if more else 0
    if more:
        push(fabric, heap, depart, SERVE, number)
    return packet


@part
def _serve(port: Record, flow: Record, packet: Record, now: int) -> int:
    depart = now + service_ps(port, flow["packet_bytes"])
    port["free_at"] = depart
    port["serving_high"] = flow["is_high"]
    # A packet reaches its leaf's queue when it is "sent": see `world`, `first_ps`.
    note_wait(port, now - packet["sent_at"])
    return depart
