"""DCQCN: marking in queues, notices of the receiver, rates of the sender (kernels).

Zhu et al. 2015, sections 3.1-3.3, without its byte counter: only time raises a rate.
Called by `hosts` and `events`. Timers need no events: a sender catches up with them
when it sends, which is the only time its rate matters.
"""

# Fields of records have no static type.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from spraycheck.simulator.draws import MARK, draw, fraction
from spraycheck.simulator.jit import part
from spraycheck.simulator.world import BITS_PS, Record


@part
def is_marked(fabric: Record, queued: float, key: np.uint64, step: int) -> bool:
    """Whether a queue of so many bytes marks a packet (RED between K_min and K_max)."""
    if not fabric["dcqcn"] or queued <= fabric["mark_from"]:
        return False
    if queued >= fabric["mark_all"]:
        return True
    span = fabric["mark_all"] - fabric["mark_from"]
    chance = fabric["mark_most"] * (queued - fabric["mark_from"]) / span
    return fraction(draw(key, step, MARK)) < chance


@part
def is_notified(fabric: Record, flow: Record, at: int) -> bool:
    """A marked packet reaches its host: does it tell the sender? Not too often."""
    if at - flow["notified_at"] < fabric["notify_every"]:
        return False
    flow["notified_at"] = at
    return True


@part
def set_rate(fabric: Record, flow: Record, now: int) -> None:
    """Catch up with the timers, and pace by the rate that results."""
    _rise(fabric, flow, now)
    flow["gap_ps"] = flow["packet_bytes"] * BITS_PS / flow["rate"]


@part
def cut_rate(fabric: Record, flow: Record, now: int) -> None:
    """A notice reaches the sender."""
    _rise(fabric, flow, now)
    gain, alpha = fabric["gain"], flow["alpha"]
    flow["num_notices"] += 1
    flow["target_rate"] = flow["rate"]
    flow["rate"] = max(flow["rate"] * (1 - alpha / 2), fabric["least"])
    flow["alpha"] = (1 - gain) * alpha + gain
    flow["next_decay"] = now + fabric["decay_every"]
    flow["next_rise"] = now + fabric["rise_every"]
    flow["num_rises"] = 0


@part
def _rise(fabric: Record, flow: Record, now: int) -> None:
    """Timers up to `now`: alpha decays, the rate recovers, then probes for more."""
    top = flow["top_rate"]
    while flow["next_decay"] <= now and flow["alpha"] > 1e-9:
        flow["alpha"] *= 1 - fabric["gain"]
        flow["next_decay"] += fabric["decay_every"]
    while flow["next_rise"] <= now and flow["rate"] < top:
        flow["num_rises"] += 1
        beyond = flow["num_rises"] - fabric["fast_rises"]
        step = 0.0
        if beyond > 0:
            step = fabric["add"]
        if beyond > fabric["fast_rises"]:
            step = fabric["hyper"]
        target = min(top, flow["target_rate"] + step)
        flow["target_rate"] = target
        rate = (flow["rate"] + target) / 2
        # Halving the gap would never quite close it.
        flow["rate"] = top if top - rate < 1e-3 * top else rate
        flow["next_rise"] += fabric["rise_every"]
