"""When a whole group waits longer in its collectives than before (SCOUT sec. 11).

Pure; used by `decide`. Peers cannot be compared where all are slow alike, so the
reference is temporal: "peer-group-wide slowdowns relative to clean history". It names
nobody. Who comes last to a collective waits least; the least of all peers is therefore
time that no late peer explains.

    least wait of all peers at a check ─► above the limit of clean checks before it,
    at `confirmations` checks in a row, and no peer is slow itself ─► group-scoped

A slowdown from the first check on has no clean history and is not seen.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from scout.config import ScoutConfig

SURFACE = "collective.inside"
"""The timing that carries the waits; peers are never compared by it."""

NUM_NEEDED = 3
"""Clean checks before anything is judged: the first one pays for connections."""

NUM_KEPT = 16
"""Clean checks that are the reference."""

FACTOR = 3.0
"""Times the median of clean checks that is still normal: a history is an unstable
reference (SCOUT sec. 2), so the limit lies far above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSlow:
    """The group is slow: what all waited, in seconds between two checks."""

    least_s: float
    threshold_s: float
    median_s: float
    boundaries: tuple[int, ...]


def expression(config: ScoutConfig) -> str:
    """The rule as it stands on every page and in every report."""
    floor_s = config.floor_group_s * config.replay_every
    return (
        f"least wait > max({FACTOR:g}*m, m + {floor_s:g} s), m of clean checks before"
    )


@dataclass(slots=True)
class GroupSlowdown:
    """Memory of one peer group; feed it every complete check in order."""

    config: ScoutConfig
    _clean: deque[float] = field(default_factory=lambda: deque(maxlen=NUM_KEPT))
    _steps: list[int] = field(default_factory=list)  # slow checks in a row

    def threshold_s(self) -> float | None:
        """The limit as it stands; None: too few clean checks."""
        if len(self._clean) < NUM_NEEDED:
            return None
        median = statistics.median(self._clean)
        floor_s = self.config.floor_group_s * self.config.replay_every
        return max(FACTOR * median, median + floor_s)

    def on_check(
        self, step: int, waits_s: Sequence[float | None], *, is_explained: bool
    ) -> GroupSlow | None:
        """Take one check's waits, by peer; give the slowdown once it is confirmed.

        Args:
            step: the boundary.
            waits_s: of each peer between two checks; None: it was not measured.
            is_explained: a peer is slow itself; the check tells nothing of the group.
        """
        measured = [wait for wait in waits_s if wait is not None]
        if is_explained or len(measured) < len(waits_s) or not measured:
            self._steps = []
            return None
        least, threshold = min(measured), self.threshold_s()
        if threshold is None or least <= threshold:
            self._clean.append(least)
            self._steps = []
            return None
        self._steps.append(step)
        if len(self._steps) < self.config.confirmations:
            return None
        return GroupSlow(
            least_s=least, threshold_s=threshold,
            median_s=statistics.median(self._clean), boundaries=tuple(self._steps),
        )  # fmt: skip

    def is_clean(self) -> bool:
        """Whether the last check was not slow."""
        return not self._steps
