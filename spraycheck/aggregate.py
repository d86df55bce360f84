"""Add up flows between the same leaves until they are enough (SprayCheck "detection").

Pure. Small flows say little; those of several queue pairs and iterations between two
leaves, over the same spines, are one larger flow. The window is the shortest run of
newest flows with at least P_min packets a spine, so that a fault is not diluted by what
was counted before it. Called by `control`; knows nothing of queue pairs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """One finished flow; `counts` by usable spine."""

    num_packets: int
    counts: tuple[int, ...]
    started_ns: int
    ended_ns: int


class FlowWindow:
    """The newest flows from one leaf over the same `spines`."""

    MAX_RECORDS = 4096  # bounds the state where flows are tiny

    def __init__(self, spines: tuple[int, ...], min_packets: int) -> None:
        self.spines = spines
        self.min_packets = min_packets
        self.records: deque[FlowRecord] = deque()
        self.num_packets = 0
        self.counts = (0,) * len(spines)

    @property
    def is_full(self) -> bool:
        """Whether there are enough packets to conclude."""
        return self.num_packets >= self.min_packets

    def add(self, record: FlowRecord) -> None:
        """Take in a flow; drop the oldest ones that are not needed any more."""
        self.records.append(record)
        self._change(record, +1)
        while (
            self.num_packets - self.records[0].num_packets >= self.min_packets
            or len(self.records) > self.MAX_RECORDS
        ):
            self._change(self.records.popleft(), -1)

    def _change(self, record: FlowRecord, sign: int) -> None:
        self.num_packets += sign * record.num_packets
        self.counts = tuple(
            have + sign * count
            for have, count in zip(self.counts, record.counts, strict=True)
        )
