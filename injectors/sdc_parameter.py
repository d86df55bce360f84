"""`sdc.parameter`: one bit of one parameter of one rank reads wrong.

Persistent and intermittent: after each update of the window the bit is stuck at the
complement of its healthy value, and given back before the next update, so that the
stored value stays healthy (a bad read path) and heal leaves nothing behind. An XOR
flip would undo itself at the next application (FACTS).
One-shot: the bit flips once after the update and stays flipped: the optimizer carries
the residue on, which SCOUT must count to the same incident.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors import bits
from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext, RankParameters
from injectors.layers import pick_parameter
from injectors.window import draw
from vocab.events import Change


class SdcParameter(RankParameters):
    """Which bit of which element; what is absent is drawn from the seed."""

    kind: Literal["sdc.parameter"]
    parameter: str | None = Field(
        None, description="name of the parameter; absent: drawn from a repeated layer"
    )
    element: int | None = Field(
        None, ge=0, description="row-major index of the element"
    )
    stuck_bit: int = Field(
        21,
        ge=0,
        le=63,
        description="bit from the lowest: for float32, 0 is one ulp, 31 the sign",
    )


class SdcParameterFault:
    """The fault at work in its rank."""

    label = "SDC: stuck parameter bit"
    color = "#d62728"
    moment: Literal["update_end"] = "update_end"

    def __init__(self, parameters: SdcParameter, context: RankContext) -> None:
        self._bit = parameters.stuck_bit
        self._one_shot = parameters.lifetime == "one-shot"
        self._name, self._tensor = pick_parameter(context, parameters.parameter)
        self._element = self._pick_element(parameters, context)
        self._healthy: int | None = None  # bits to give back; None: nothing is struck

    def inject(self, step: int) -> tuple[Change, ...]:
        """Flip the bit away from its healthy value."""
        before = bits.describe(self._tensor, self._element)
        if self._healthy is None:
            healthy = bits.read_bits(self._tensor, self._element)
            bits.write_bits(self._tensor, self._element, healthy ^ (1 << self._bit))
            self._healthy = healthy
        return (self._change(before),)

    def heal(self, step: int) -> Healing:
        """Give the healthy bits back; a one-shot flip is history and stays."""
        before = bits.describe(self._tensor, self._element)
        residue = ""
        if self._healthy is not None and self._one_shot:
            residue = f"{self._name}[{self._element}] stays changed"
        elif self._healthy is not None:
            bits.write_bits(self._tensor, self._element, self._healthy)
        self._healthy = None
        return Healing(changes=(self._change(before),), residue=residue)

    def _change(self, before: str) -> Change:
        after = bits.describe(self._tensor, self._element)
        what = f"{self._name}[{self._element}] bit {self._bit}"
        return Change(what=what, before=before, after=after)

    def _pick_element(self, parameters: SdcParameter, context: RankContext) -> int:
        if self._bit >= bits.num_bits(self._tensor):
            raise CannotInject(
                f"stuck_bit {self._bit}: {self._name} is {self._tensor.dtype}; "
                f"allowed: 0..{bits.num_bits(self._tensor) - 1}"
            )
        size = self._tensor.numel()
        if parameters.element is None:
            return draw(f"{context.seed}/{context.fault_id}/element").randrange(size)
        if parameters.element >= size:
            raise CannotInject(
                f"element {parameters.element} of {self._name}; allowed: 0..{size - 1}"
            )
        return parameters.element
