"""`sdc.optimizer_state`: a slot of one rank's optimizer reads wrong.

The values go wrong right before the update that reads them. The update carries them
into the weights, so every lifetime leaves a residue: replicas that were equal are no
longer, in the slot and soon in the weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from injectors.corruption import CorruptingParameters, Corruption
from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext
from injectors.layers import pick_parameter
from injectors.tampering import Tampering
from injectors.window import draw
from vocab.events import Change

if TYPE_CHECKING:
    import torch


class SdcOptimizerState(CorruptingParameters):
    """Which slot of which parameter; what is absent is drawn from the seed."""

    kind: Literal["sdc.optimizer_state"]
    parameter: str | None = Field(
        None, description="name of the parameter; absent: drawn from a repeated layer"
    )
    slot: str | None = Field(
        None,
        description="name of the slot, such as exp_avg; absent: drawn from those that "
        "have the parameter's shape",
    )


class SdcOptimizerStateFault:
    """The fault at work in its rank."""

    label = "SDC: wrong optimizer state"
    color = "#9467bd"
    moment: Literal["update_start"] = "update_start"

    def __init__(self, parameters: SdcOptimizerState, context: RankContext) -> None:
        self._wanted = parameters.slot
        self._key = f"{context.seed}/{context.fault_id}/slot"
        self._optimizer = context.optimizer
        self._name, self._parameter = pick_parameter(context, parameters.parameter)
        self._corruption = Corruption.of(parameters, context)
        self._struck: dict[str, Tampering] = {}  # by slot
        self._step = 0

    def inject(self, step: int) -> tuple[Change, ...]:
        """Make the values wrong, once for each update."""
        slot, tensor = self._pick_slot()
        if slot not in self._struck:
            name = f"{self._name}.{slot}"
            self._struck[slot] = Tampering(self._corruption, name)
        if step != self._step:
            self._step = step
            self._struck[slot].forget()
        return self._struck[slot].strike(tensor)

    def heal(self, step: int) -> Healing:
        """The update has read the values: nothing to give back."""
        slots = ", ".join(f"{self._name}.{slot}" for slot in self._struck)
        self._struck = {}
        residue = f"{slots} went into the weights" if slots else ""
        return Healing(changes=(), residue=residue)

    def _pick_slot(self) -> tuple[str, torch.Tensor]:
        import torch

        shape = self._parameter.shape
        slots = {
            name: value
            for name, value in self._optimizer.state.get(self._parameter, {}).items()
            if isinstance(value, torch.Tensor) and value.shape == shape
        }
        if not slots:
            raise CannotInject(
                f"the optimizer has no slot for {self._name} before its first update"
            )
        wanted = self._wanted or draw(self._key).choice(sorted(slots))
        if wanted not in slots:
            raise CannotInject(
                f"no slot {wanted!r} of {self._name}; allowed: {', '.join(slots)}"
            )
        return wanted, slots[wanted]
