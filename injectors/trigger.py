"""The rank's part of a fault that acts from outside: say that its window begins.

    rank: step `at_step` begins -> FaultTriggered -> harness: HostFault.inject
    rank: step `until_step` ends -> StepEnded     -> harness: HostFault.heal

Shared by the faults that `host_driver` drives for whole steps. It touches nothing.
"""

from __future__ import annotations

from typing import Literal

from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change, FaultTriggered


class TriggerAtStep:
    """Tells the harness once; the harness proves and heals."""

    label = "Trigger"  # never reported: the harness reports its own
    color = "#7f7f7f"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: RankParameters, context: RankContext) -> None:
        self._kind = parameters.kind
        self._context = context
        self._is_told = False

    def inject(self, step: int) -> tuple[Change, ...]:
        """Tell it; no change of this rank's own to report."""
        if not self._is_told:
            self._is_told = True
            self._context.emit(
                FaultTriggered(
                    fault_id=self._context.fault_id, kind=self._kind, step=step
                )
            )
        return ()

    def heal(self, step: int) -> Healing:
        """Nothing here to undo."""
        return Healing(changes=())
