"""`hang.backward`: a rank blocks in the backward pass of a layer.

The case in which a watch of forward boundaries alone blames the whole group (FACTS).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from injectors.blockade import Blockade, BlockParameters, Witness
from injectors.fault import Healing, RankContext
from injectors.layers import pick_layer
from vocab.events import Change

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class HangBackward(BlockParameters):
    """The layer, and for how long."""

    kind: Literal["hang.backward"]
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )


class BlockedBackward:
    """The fault at work in its rank."""

    label = "Hang: blocked backward"
    color = "#1f77b4"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangBackward, context: RankContext) -> None:
        self._name, self._layer = pick_layer(context, parameters.layer)
        self._hook: RemovableHandle | None = None
        self._blockade = Blockade(Witness(self, parameters, context))

    def inject(self, step: int) -> tuple[Change, ...]:
        """Hook the layer's next backward pass; the block proves itself."""

        def in_forward(module: torch.nn.Module, args: Any, output: Any) -> None:
            self.heal(step)
            output.register_hook(
                lambda _: self._blockade.hold(step, f"the backward of {self._name}")
            )

        if self._hook is None:
            self._hook = self._layer.register_forward_hook(in_forward)
        return ()

    def heal(self, step: int) -> Healing:
        """Unhook; who is blocked is let go by the witness."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        return Healing(changes=())
