"""One round of asking every peer's observer for its rank's progress (SCOUT sec. 7).

Used by `scout.observer` for a comparison. A peer that does not answer in `PEER_WAIT_S`
is missing; a rank that said goodbye is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scout.observer_net import Switchboard
from scout.observer_wire import Address
from vocab.codec import from_json
from vocab.errors import DecodeError
from vocab.events import ProgressSnapshot

PEER_WAIT_S = 0.5
"""How long a comparison waits for peers' observers; who is later is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Why progress is compared, and by whose silence."""

    why: str  # silence, death, progress
    rank: int
    silent_s: float
    threshold_s: float
    hops: int = 0  # how many observers have passed it on


class PeerRound:
    """Asks all peers; `done` gets what was found, by rank, when all had their time."""

    def __init__(
        self,
        net: Switchboard,
        done: Callable[[Trigger, tuple[ProgressSnapshot, ...]], None],
    ) -> None:
        self._net = net
        self._done = done
        self._trigger: Trigger | None = None
        self._found: dict[int, ProgressSnapshot] = {}
        self._num_open = 0

    @property
    def is_open(self) -> bool:
        """Whether a round is under way."""
        return self._trigger is not None

    def begin(
        self,
        trigger: Trigger,
        known: Mapping[int, ProgressSnapshot],
        peers: Mapping[int, Address],
    ) -> None:
        """Ask everybody in `peers` whose progress is not `known` already."""
        assert self._trigger is None, "one round at a time"
        self._trigger = trigger
        self._found = dict(known)
        others = [rank for rank in peers if rank not in known]
        self._num_open = len(others)
        for rank in others:
            done = partial(self._on_answer, rank)
            self._net.ask(peers[rank], "snapshot", {}, within_s=PEER_WAIT_S, done=done)
        if not others:
            self._end(trigger)

    def _on_answer(self, rank: int, answer: dict[str, Any] | None) -> None:
        assert self._trigger is not None, "a round ends only when all have answered"
        snapshot = read_snapshot(answer)
        if snapshot is not None and snapshot.rank == rank:
            self._found[rank] = snapshot
        self._num_open -= 1
        if self._num_open == 0:
            self._end(self._trigger)

    def _end(self, trigger: Trigger) -> None:
        self._trigger = None
        self._done(trigger, tuple(self._found[rank] for rank in sorted(self._found)))


def read_snapshot(message: dict[str, Any] | None) -> ProgressSnapshot | None:
    """The snapshot in an answer; None: no answer, or no whole snapshot in it."""
    if message is None:
        return None
    try:
        return from_json(ProgressSnapshot, message.get("snapshot"))
    except DecodeError:
        return None
