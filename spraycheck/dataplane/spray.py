"""Over which spine the next packet goes: spraying policies (SprayCheck Fig. 2).

Pure but for the random source that is handed in. Queues are virtual: a switch program
cannot read its port queues where it decides (a veth has none), so each uplink has a
backlog per traffic class, drained at the link's rate, highest class first. A class sees
its own backlog and those above it: the measured flow sees only its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

POLICIES = ("random", "jsq2", "jsq", "round_robin")
_BITS_PER_BYTE = 8


@dataclass(slots=True)
class Sprayer:
    """The uplinks of one leaf."""

    policy: str
    num_spines: int
    rate_gbps: float  # of an uplink; Gbit/s are bits per ns
    rng: Random
    num_classes: int = 8
    _backlog: list[list[float]] = field(init=False)  # [spine][class], bytes
    _drained_ns: list[int] = field(init=False)
    _turn: int = 0

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            allowed = ", ".join(POLICIES)
            raise ValueError(f"policy is {self.policy!r}; allowed: {allowed}")
        if self.rate_gbps <= 0:
            raise ValueError(f"rate_gbps is {self.rate_gbps}; allowed: above 0")
        self._backlog = [[0.0] * self.num_classes for _ in range(self.num_spines)]
        self._drained_ns = [0] * self.num_spines

    def choose(
        self, spines: Sequence[int], num_bytes: int, traffic_class: int, now_ns: int
    ) -> int:
        """One of the usable `spines` for this packet, which then waits there."""
        if self.policy == "random":
            spine = self.rng.choice(spines)
        elif self.policy == "round_robin":
            spine = spines[self._turn % len(spines)]
            self._turn += 1
        else:
            pair = self.policy == "jsq2" and len(spines) > 2
            among = self.rng.sample(spines, 2) if pair else list(spines)
            spine = self._shortest(among, traffic_class, now_ns)
        self._drain(spine, now_ns)
        self._backlog[spine][traffic_class] += num_bytes
        return spine

    def _shortest(self, among: list[int], traffic_class: int, now_ns: int) -> int:
        waiting = []
        for spine in among:
            self._drain(spine, now_ns)
            waiting.append(sum(self._backlog[spine][traffic_class:]))
        least = min(waiting)
        ties = [
            spine for spine, depth in zip(among, waiting, strict=True) if depth == least
        ]
        # Always the first of equals would send all of a slow flow over one spine.
        return self.rng.choice(ties)

    def _drain(self, spine: int, now_ns: int) -> None:
        elapsed = max(0, now_ns - self._drained_ns[spine])
        self._drained_ns[spine] = max(now_ns, self._drained_ns[spine])
        left = elapsed * self.rate_gbps / _BITS_PER_BYTE
        queues = self._backlog[spine]
        for level in range(self.num_classes - 1, -1, -1):
            sent = min(left, queues[level])
            queues[level] -= sent
            left -= sent
