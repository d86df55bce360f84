"""The queue of future events, and the records of packets in the network (kernels).

Called by `events` and its parts. A binary heap over (time, random tie): packets of the
same picosecond must not always go in the same order, or all loss lands on one of two
equal senders. Never grows by itself: `has_room` says when `world.grown` is needed.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from spraycheck.simulator.draws import TIE, draw
from spraycheck.simulator.jit import part
from spraycheck.simulator.world import NONE, Record, Records

SEND, SERVE, AT_SPINE, AT_LEAF, NOTICE = range(5)
_TIE_BITS, _KIND_BITS = 16, 3
_48 = np.uint64(48)
# One event takes one packet record and schedules a few others at the most; the end of
# a flow may start many, one push each.
_SPARE = 8


@part
def has_room(fabric: Record, packets: Records, heap: Records, num_flows: int) -> bool:
    """Whether any one event can be handled without growing."""
    if fabric["num_fresh"] == len(packets) and fabric["free_head"] == NONE:
        return False
    return fabric["heap_size"] + num_flows + _SPARE < len(heap)


@part
def push(fabric: Record, heap: Records, at: int, kind: int, subject: int) -> None:
    """Schedule an event; `subject` is a host, port, packet record or flow."""
    fabric["num_pushed"] += 1
    tie = draw(fabric["tie_key"], fabric["num_pushed"], TIE) >> _48
    key = (at << _TIE_BITS) | int(np.int64(tie))
    i = fabric["heap_size"]
    fabric["heap_size"] = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent]["key"] <= key:
            break
        _put(heap[i], heap[parent]["key"], heap[parent]["item"])
        i = parent
    _put(heap[i], key, (subject << _KIND_BITS) | kind)


@part
def next_time(heap: Records) -> int:
    """When the next event is; the heap is not empty."""
    return heap[0]["key"] >> _TIE_BITS


@part
def pop(fabric: Record, heap: Records) -> int:
    """Remove the next event; its kind and subject as one number."""
    event = heap[0]["item"]
    fabric["now"] = heap[0]["key"] >> _TIE_BITS
    size = fabric["heap_size"] - 1
    fabric["heap_size"] = size
    key, item = heap[size]["key"], heap[size]["item"]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size:
            # Added, not branched on: which child is less cannot be predicted.
            child += heap[child + 1]["key"] < heap[child]["key"]
        if heap[child]["key"] >= key:
            break
        _put(heap[i], heap[child]["key"], heap[child]["item"])
        i = child
    _put(heap[i], key, item)
    return event


@part
def _put(event: Record, key: int, item: int) -> None:
    event["key"] = key
    event["item"] = item


@part
def kind_of(event: int) -> int:
    """SEND, SERVE, AT_SPINE, AT_LEAF or NOTICE."""
    return event & ((1 << _KIND_BITS) - 1)


@part
def subject_of(event: int) -> int:
    """The host, port, packet record or flow of an event."""
    return event >> _KIND_BITS


@part
def take(fabric: Record, packets: Records) -> int:
    """A record for a new packet."""
    fabric["num_live"] += 1
    packet = fabric["free_head"]
    if packet == NONE:
        packet = fabric["num_fresh"]
        fabric["num_fresh"] = packet + 1
    else:
        fabric["free_head"] = packets[packet]["next"]
    return packet


@part
def give_back(fabric: Record, packet: Record, number: int) -> None:
    """Packet record `number` is free again."""
    fabric["num_live"] -= 1
    packet["next"] = fabric["free_head"]
    fabric["free_head"] = number
