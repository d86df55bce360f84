"""Hosts: whose turn it is, what is sent next, and what is sent again (kernels).

Called by `events`. A host's link serves its flows in turns; within a flow a lost packet
goes before new ones (selective repeat), as soon as its time has come.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spraycheck.simulator.dcqcn import set_rate
from spraycheck.simulator.heap import SEND, push, take
from spraycheck.simulator.jit import part
from spraycheck.simulator.pace import pace
from spraycheck.simulator.world import NEVER, NONE, Record, Records


@part
def _ready_slot(flow: Record, packets: Records) -> float:
    """When the flow could send, were the host's link free; NEVER: it has nothing."""
    if flow["num_blockers"] > 0:
        return float(NEVER)
    slot = flow["next_send"]
    if flow["next_seq"] == flow["num_packets"]:
        head = flow["pending_head"]
        if head == NONE:
            return float(NEVER)
        slot = max(slot, float(packets[head]["resend_at"]))
    return slot


@part
def rouse(
    fabric: Record,
    hosts: Records,
    flows: Records,
    host_flows: NDArray[np.int64],
    packets: Records,
    heap: Records,
    number: int,
) -> None:
    """Schedule host `number`'s next packet, unless one is due already by then."""
    host = hosts[number]
    nic_free = host["nic_free"]
    turn, best, best_turn = host["turn"], NONE, 0
    best_slot = float(NEVER)
    for _ in range(host["num_flows"]):
        flow = host_flows[host["first_flow"] + turn]
        slot = max(_ready_slot(flows[flow], packets), nic_free)
        turn = turn + 1 if turn + 1 < host["num_flows"] else 0
        if slot < best_slot:
            best, best_slot, best_turn = flow, slot, turn
            if slot <= nic_free:
                break
    if best == NONE:
        return
    at = math.ceil(best_slot)
    if at < host["wake"]:
        host["wake"] = at
        host["next_flow"] = best
        host["next_slot"] = best_slot
        host["next_turn"] = best_turn
        push(fabric, heap, at, SEND, number)


@part
def send(fabric: Record, host: Record, flows: Records, packets: Records) -> int:
    """The packet that the host sends now; its flow's and its link's next times."""
    now, slot, number = host["wake"], host["next_slot"], host["next_flow"]
    flow = flows[number]
    packet = flow["pending_head"]
    if packet != NONE and packets[packet]["resend_at"] <= now:
        row = packets[packet]
        flow["pending_head"] = row["next"]
        if row["next"] == NONE:
            flow["pending_tail"] = NONE
        flow["num_resent"] += 1
        fabric["num_live"] += 1
        row["resent"] = 1
    else:
        packet = take(fabric, packets)
        row = packets[packet]
        row["flow"] = number
        row["seq"] = flow["next_seq"]
        row["resent"] = 0
        flow["next_seq"] += 1
    row["index"] = flow["num_sent"]
    row["sent_at"] = now
    row["marked"] = 0
    row["next"] = NONE
    nic_ps = flow["packet_bytes"] * fabric["host_byte_ps"]
    if fabric["dcqcn"]:
        set_rate(fabric, flow, now)
    pace(flow, slot, nic_ps)
    flow["num_sent"] += 1
    host["nic_free"] = slot if flow["poisson"] else slot + nic_ps
    host["turn"] = host["next_turn"]
    host["wake"] = NEVER
    return packet


@part
def lose(
    fabric: Record, flow: Record, packets: Records, number: int, when: int
) -> None:
    """Packet `number` is gone; its record waits to be sent again, earliest first."""
    packet = packets[number]
    at = max(when, packet["sent_at"] + fabric["resend_after"])
    packet["resend_at"] = at
    packet["next"] = NONE
    fabric["num_live"] -= 1
    tail = flow["pending_tail"]
    if tail == NONE:
        flow["pending_head"] = number
        flow["pending_tail"] = number
    elif packets[tail]["resend_at"] <= at:
        packets[tail]["next"] = number
        flow["pending_tail"] = number
    else:
        before, after = NONE, flow["pending_head"]
        while packets[after]["resend_at"] <= at:
            before, after = after, packets[after]["next"]
        packet["next"] = after
        if before == NONE:
            flow["pending_head"] = number
        else:
            packets[before]["next"] = number
