"""Byte queues of ports, spraying over them, and loss on the links behind (kernels).

Called by `stream` and `events`, which agree because both decide here. A queue of one
class has a closed form: it is the time until its port is free. Never schedules.

    JSQ(d)  join the shortest of d queues, ties at random (Mitzenmacher 2001)
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spraycheck.simulator.draws import below, draw, fraction
from spraycheck.simulator.jit import part
from spraycheck.simulator.world import EACH, NO_LOSS, Record, Records

# In the order of spraycheck.dataplane.spray.POLICIES.
RANDOM, JSQ2, JSQ, ROUND_ROBIN = range(4)
ALL, OWN, VIRTUAL = range(3)
OVERFLOWED = -1
_31, _32, _33 = np.uint64(31), np.uint64(32), np.uint64(33)
_ONE = np.uint64(1)


@part
def backlog(port: Record, sees: int, now: int) -> int:
    """Picoseconds of work in front of a new packet that its class can see.

    Args:
        sees: ALL, OWN (the measured flow's queue of this port) or VIRTUAL (what that
            would be, were it alone).
    """
    if sees == VIRTUAL:
        return max(0, port["virtual_at"] - now)
    serving = max(0, port["free_at"] - now)
    if sees == OWN:
        own = port["wait_high"]
        return own + serving if port["serving_high"] else own
    return serving + port["wait_high"] + port["wait_low"]


@part
def choose(
    policy: int,
    ports: Records,
    first: int,
    spines: NDArray[np.int64],
    num_usable: int,
    sees: int,
    now: int,
    bits: np.uint64,
    turn: int,
) -> int:
    """The spine that the next packet goes to; spine i stands behind port first + i."""
    if policy == JSQ2 and num_usable > 1:
        # 32 bits for one, 31 for another one, 1 for the tie.
        near = below(bits, num_usable)
        far = int(np.int64(((bits >> _33) * np.uint64(num_usable - 1)) >> _31))
        far += far >= near
        near, far = spines[near], spines[far]
        near_work = backlog(ports[first + near], sees, now)
        far_work = backlog(ports[first + far], sees, now)
        if near_work == far_work:
            return near if (bits >> _32) & _ONE else far
        return near if near_work < far_work else far
    if policy == JSQ:
        return _shortest(ports, first, spines, num_usable, sees, now, bits)
    if policy == ROUND_ROBIN:
        return spines[turn % num_usable]
    return spines[below(bits, num_usable)]


@part
def _shortest(
    ports: Records,
    first: int,
    spines: NDArray[np.int64],
    num_usable: int,
    sees: int,
    now: int,
    bits: np.uint64,
) -> int:
    least, num_ties = -1, 0
    for i in range(num_usable):
        work = backlog(ports[first + spines[i]], sees, now)
        if least < 0 or work < least:
            least, num_ties = work, 0
        num_ties += work == least
    wanted = below(bits, num_ties)
    for i in range(num_usable):
        if backlog(ports[first + spines[i]], sees, now) == least:
            if wanted == 0:
                return spines[i]
            wanted -= 1
    return spines[0]


@part
def service_ps(port: Record, num_bytes: int) -> int:
    """How long a packet occupies a port."""
    return int(np.round(num_bytes * port["byte_ps"]))


@part
def queued_bytes(port: Record, now: int) -> float:
    """Bytes in the port, with what is left of the packet in service."""
    return backlog(port, ALL, now) / port["byte_ps"]


@part
def join(port: Record, now: int, num_bytes: int, queue_bytes: int) -> int:
    """Queue a packet at a port of one class; when it has left, or OVERFLOWED."""
    wait = max(0, port["free_at"] - now)
    if wait / port["byte_ps"] + num_bytes > queue_bytes:
        return OVERFLOWED
    depart = now + wait + service_ps(port, num_bytes)
    port["free_at"] = depart
    note_wait(port, wait)
    note_backlog(port, depart - now)
    return depart


@part
def note_wait(port: Record, wait: int) -> None:
    """Count a packet that waited so long before its service."""
    port["num_pkts"] += 1
    port["sum_wait"] += wait


@part
def note_backlog(port: Record, work: int) -> None:
    """Remember the longest queue, in picoseconds of work."""
    if work > port["max_backlog"]:
        port["max_backlog"] = work


@part
def is_lost(port: Record, now: int, num_bytes: int, bits: np.uint64) -> bool:
    """Whether the link behind a port loses this packet, which it has carried."""
    lost = _loses(port, now, num_bytes, bits)
    port["num_lost"] += lost
    return lost


@part
def _loses(port: Record, now: int, num_bytes: int, bits: np.uint64) -> bool:
    if port["loss"] == NO_LOSS:
        return False
    if now < port["from_ps"] or now >= port["until_ps"]:
        return False
    if num_bytes < port["min_bytes"]:
        return False
    if port["loss"] == EACH:
        return fraction(bits) < port["drop_frac"]
    # The state of a bursty link belongs to the link: one step per packet on it.
    step = port["num_steps"]
    port["num_steps"] = step + 1
    luck = fraction(draw(port["key"], step, 0))
    if step == 0:
        port["is_bad"] = luck < port["drop_frac"]
    elif port["is_bad"]:
        port["is_bad"] = luck >= port["leave_bad"]
    else:
        port["is_bad"] = luck < port["enter_bad"]
    return port["is_bad"] != 0
