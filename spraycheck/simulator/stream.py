"""The fast kernel: a flow alone on its links, in closed form, packet by packet.

Called by `run` for flows that share no port (a ring with one queue pair per leaf) and
by `spray`. Streams: what it keeps does not grow with the flow but for packets that are
lost and not yet sent again. Measures no reordering: packets are not visited in the
order of their arrival. Host queues are left out; they come after the counting.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spraycheck.simulator.draws import LOSE_DOWN, LOSE_UP, SPRAY, draw
from spraycheck.simulator.jit import kernel, part, unowned
from spraycheck.simulator.pace import pace
from spraycheck.simulator.ports import ALL, OVERFLOWED, choose, is_lost, join
from spraycheck.simulator.world import Record, Records, World

_ARRIVED = 0


@kernel
def stream(world: World, number: int) -> None:
    """Send all packets of a flow, lost ones again, until all arrived or time is up."""
    fabric, ports, flow = world.fabric[0], unowned(world.ports), world.flows[number]
    leaf = world.leaves[flow["source_leaf"]]
    spines, counts = unowned(world.usable[number]), unowned(world.counts[number])
    nic_ps = flow["packet_bytes"] * fabric["host_byte_ps"]
    resend = np.empty(1024, dtype=np.int64)  # ring of times, ascending
    head, num_waiting = 0, 0
    while True:
        slot = flow["next_send"]
        if flow["next_seq"] == flow["num_packets"]:
            if num_waiting == 0:
                return
            slot = max(slot, float(resend[head]))
        now = math.ceil(slot)
        if now > fabric["limit"]:
            return
        if num_waiting and resend[head] <= now:
            head, num_waiting = (head + 1) % len(resend), num_waiting - 1
            flow["num_resent"] += 1
        else:
            flow["next_seq"] += 1
        resend_at = _carry(fabric, leaf, ports, flow, spines, counts, now)
        if resend_at != _ARRIVED:
            if num_waiting == len(resend):
                resend, head = _doubled(resend, head), 0
            _insert(resend, head, num_waiting, resend_at)
            num_waiting += 1
        pace(flow, slot, nic_ps)
        flow["num_sent"] += 1


@part
def _carry(
    fabric: Record,
    leaf: Record,
    ports: Records,
    flow: Record,
    spines: NDArray[np.int64],
    counts: NDArray[np.int64],
    now: int,
) -> int:
    """One packet over both links: _ARRIVED, or when it may be sent again."""
    num_spines, key, index = fabric["num_spines"], flow["key"], flow["num_sent"]
    size, room = flow["packet_bytes"], fabric["queue_bytes"]
    earliest = now + fabric["resend_after"]
    first = flow["source_leaf"] * num_spines
    spine = choose(
        fabric["policy"], ports, first, spines, flow["num_usable"], ALL, now,
        draw(key, index, SPRAY), leaf["turn"],
    )  # fmt: skip
    leaf["turn"] += 1
    up = ports[first + spine]
    left = join(up, now, size, room)
    if left == OVERFLOWED:
        flow["num_overflowed"] += 1
        return earliest
    if is_lost(up, left, size, draw(key, index, LOSE_UP)):
        flow["num_lost"] += 1
        return max(left, earliest)
    target = fabric["num_leaves"] + flow["target_leaf"]
    down = ports[target * num_spines + spine]
    reached = left + up["delay"]
    left = join(down, reached, size, room)
    if left == OVERFLOWED:
        flow["num_overflowed"] += 1
        return max(reached, earliest)
    if is_lost(down, left, size, draw(key, index, LOSE_DOWN)):
        flow["num_lost"] += 1
        return max(left, earliest)
    counts[spine] += 1
    flow["num_delivered"] += 1
    flow["counted_at"] = max(flow["counted_at"], left + down["delay"])
    return _ARRIVED


@part
def _insert(ring: NDArray[np.int64], head: int, num: int, value: int) -> None:
    """Keep the ring ascending; times come almost in order."""
    at = num
    while at and ring[(head + at - 1) % len(ring)] > value:
        ring[(head + at) % len(ring)] = ring[(head + at - 1) % len(ring)]
        at -= 1
    ring[(head + at) % len(ring)] = value


@part
def _doubled(ring: NDArray[np.int64], head: int) -> NDArray[np.int64]:
    wider = np.empty(2 * len(ring), dtype=np.int64)
    for i in range(len(ring)):
        wider[i] = ring[(head + i) % len(ring)]
    return wider
