"""`sdc.parameter`: stored weights of one rank read wrong.

Persistent and intermittent: after each update of the window the values are wrong, and
given back before the next update, so that what is stored stays healthy (a bad read
path) and heal leaves nothing behind. A flip that stayed would undo itself at the next
application (FACTS); so the bit is stuck at the complement of its healthy value.
One-shot: the values go wrong once after the update and stay so: the optimizer carries
the residue on, which SCOUT must count to the same incident.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.corruption import CorruptingParameters, Corruption
from injectors.fault import Healing, RankContext
from injectors.layers import pick_parameter
from injectors.tampering import Tampering
from vocab.events import Change


class SdcParameter(CorruptingParameters):
    """Which parameter; what is absent is drawn from the seed."""

    kind: Literal["sdc.parameter"]
    parameter: str | None = Field(
        None, description="name of the parameter; absent: drawn from a repeated layer"
    )


class SdcParameterFault:
    """The fault at work in its rank."""

    label = "SDC: wrong parameter"
    color = "#d62728"
    moment: Literal["update_end"] = "update_end"

    def __init__(self, parameters: SdcParameter, context: RankContext) -> None:
        self._one_shot = parameters.lifetime == "one-shot"
        self._name, self._tensor = pick_parameter(context, parameters.parameter)
        self._tampering = Tampering(Corruption.of(parameters, context), self._name)
        self._tampering.check(self._tensor)

    def inject(self, step: int) -> tuple[Change, ...]:
        """Make the values wrong."""
        return self._tampering.strike(self._tensor)

    def heal(self, step: int) -> Healing:
        """Give the healthy values back; a one-shot is history and stays."""
        if not self._one_shot:
            return Healing(changes=self._tampering.restore())
        left = self._tampering.forget()
        return Healing(changes=(), residue=f"{left} stays changed" if left else "")
