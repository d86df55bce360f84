"""Which flow a leaf measures next (SprayCheck "flow selection").

Pure. Each leaf measures one cross-leaf flow at a time. Two bitmaps over destination
leaves: `available` (an announced flow goes there) and `history` (selected in this
cycle). Selected is the lowest destination that is available and not in the history.
Called by data planes on the spraying side; never marks a packet itself.

The paper clears both masks every minute. Clearing the history in the middle of a cycle
would let low destinations starve high ones for ever, so the history is cleared when
every available destination had its turn, and the periodic reset forgets flows that were
not announced again. A destination that stays available is selected within as many
selections as there are leaves.

Collectives use their queue pairs again in every iteration, so a flow stays available
after its last packet. A flow selected in its middle is measured from its next
announcement on: half a flow is no measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

from spraycheck.announcement import Announcement

_MAX_PER_TARGET = 64  # bounds the state, whatever hosts announce


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSelected:
    """From now on the leaf marks and prioritises this flow."""

    target_leaf: int
    dest_qp: int


class FlowSelector:
    """The selection of one leaf. Feed it `on_...`; it returns what changed, or None."""

    def __init__(self, *, leaf: int, num_leaves: int) -> None:
        self.leaf = leaf
        self.num_leaves = num_leaves
        self.selected: FlowSelected | None = None
        self.history = 0  # bitmap
        self._generation = 0
        self._flows: dict[int, dict[int, int]] = {}  # target -> QP -> last generation

    @property
    def available(self) -> int:
        """Bitmap of the destination leaves to which a flow was announced."""
        return sum(1 << target for target in self._flows)

    def on_announcement(self, announcement: Announcement) -> FlowSelected | None:
        """A host of this leaf announced a flow; local and unknown targets are left."""
        target = announcement.target_leaf
        if target == self.leaf or not 0 <= target < self.num_leaves:
            return None
        flows = self._flows.setdefault(target, {})
        flows[announcement.dest_qp] = self._generation
        while len(flows) > _MAX_PER_TARGET:
            del flows[next(iter(flows))]
        return self._select()

    def on_flow_ended(self, target_leaf: int, dest_qp: int) -> FlowSelected | None:
        """The last packet of a flow left this leaf; the next one gets its turn."""
        if self.selected != FlowSelected(target_leaf=target_leaf, dest_qp=dest_qp):
            return None
        self.selected = None
        return self._select()

    def on_reset(self) -> FlowSelected | None:
        """The period is over: forget flows not announced since the last reset."""
        old = [
            (target, qp)
            for target, flows in self._flows.items()
            for qp, generation in flows.items()
            if generation < self._generation
        ]
        for target, qp in old:
            self._forget(target, qp)
        self._generation += 1
        return self._select()

    def _forget(self, target: int, qp: int) -> None:
        flows = self._flows.get(target, {})
        flows.pop(qp, None)
        if not flows:
            self._flows.pop(target, None)
        if self.selected == FlowSelected(target_leaf=target, dest_qp=qp):
            self.selected = None

    def _select(self) -> FlowSelected | None:
        if self.selected is not None or not self._flows:
            return None
        if not self.available & ~self.history:
            self.history = 0
        eligible = self.available & ~self.history
        target = (eligible & -eligible).bit_length() - 1  # lowest bit set
        self.history |= 1 << target
        flows = self._flows[target]
        qp = next(iter(flows))
        flows[qp] = flows.pop(qp)  # to the end: queue pairs take turns, too
        self.selected = FlowSelected(target_leaf=target, dest_qp=qp)
        return self.selected
