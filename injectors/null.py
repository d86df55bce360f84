"""`null`: everything of an injection except the fault: nobody may be blamed for it."""

from __future__ import annotations

from typing import Literal

from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change


class Null(RankParameters):
    """Window and rank of an injection that changes nothing."""

    kind: Literal["null"]


class NullFault:
    """Fires and heals like any other fault."""

    label = "Null injection"
    color = "#7f7f7f"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: Null, context: RankContext) -> None:
        self._change = Change(what="nothing", before="unchanged", after="unchanged")

    def inject(self, step: int) -> tuple[Change, ...]:
        """Change nothing, and say so."""
        return (self._change,)

    def heal(self, step: int) -> Healing:
        """Nothing to put back."""
        return Healing(changes=(self._change,))
