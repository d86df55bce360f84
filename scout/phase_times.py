"""Time that a rank spends fetching batches and writing checkpoints (SCOUT sec. 6).

Both have explicit entry and exit boundaries; their stragglers need no replay. Each
rank sums what it spent inside since the last check, and the check compares sums by
C3 like any other timing. Waiting for peers is no part of them; it is summed by itself,
for `group_slowdown`. Used by `phases` (adds) and
`check` (takes); a sum keeps the one slow fetch in twenty that a sample would miss.
"""

from __future__ import annotations

from collections.abc import Mapping

from scout import group_slowdown
from scout.clock import Timing
from scout.evidence import Surface

DATA_FETCH = Surface(name="data.fetch", recipe="data", layer=None)
CHECKPOINT_SAVE = Surface(name="checkpoint.save", recipe="checkpoint", layer=None)
LOOP_BLOCKED = Surface(name="loop.blocked", recipe="loop", layer=None)
COLLECTIVE_INSIDE = Surface(
    name=group_slowdown.SURFACE, recipe="collective", layer=None
)
PHASE_SURFACES = (DATA_FETCH, CHECKPOINT_SAVE, LOOP_BLOCKED, COLLECTIVE_INSIDE)


class PhaseTimes:
    """What this rank spent in each phase since the last check."""

    def __init__(self) -> None:
        self._spent: dict[str, Timing] = {}

    def note(self, surface: Surface, timing: Timing) -> None:
        """Add one fetch or one save."""
        so_far = self._spent.get(surface.name)
        self._spent[surface.name] = timing if so_far is None else so_far + timing

    def take(self) -> Mapping[str, Timing]:
        """The sums by surface; empty for what was not entered. Begins anew."""
        spent, self._spent = self._spent, {}
        return spent
