"""`straggler.compute`: one rank is slow in the forward or backward of one layer.

A forward hook sleeps before the layer's output is handed on, or hangs a tensor hook on
that output which sleeps when its gradient arrives; training and replay both pay.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from injectors.fault import Healing, RankContext, RankParameters
from injectors.layers import pick_layer
from vocab.events import Change

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class StragglerCompute(RankParameters):
    """How long, and where in the step."""

    kind: Literal["straggler.compute"]
    delay_s: float = Field(
        0.25, gt=0, le=60, description="seconds that each pass of the layer loses"
    )
    where: Literal["forward", "backward"] = Field(
        "forward", description="pass of the layer that is slow"
    )
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )


class StragglerComputeFault:
    """The fault at work in its rank."""

    label = "Straggler: slow layer"
    color = "#ff7f0e"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: StragglerCompute, context: RankContext) -> None:
        self._delay_s = parameters.delay_s
        self._where = parameters.where
        self._name, self._layer = pick_layer(context, parameters.layer)
        self._hook: RemovableHandle | None = None
        self._num_delays = 0

    def inject(self, step: int) -> tuple[Change, ...]:
        """Install the hook that sleeps."""
        before = self._describe()
        if self._hook is None:
            delay = self._in_forward if self._where == "forward" else self._in_backward
            self._hook = self._layer.register_forward_hook(delay)
        return (Change(what=self._what(), before=before, after=self._describe()),)

    def heal(self, step: int) -> Healing:
        """Remove the hook."""
        before = self._describe()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        change = Change(what=self._what(), before=before, after=self._describe())
        return Healing(changes=(change,))

    def _what(self) -> str:
        return f"{self._name}.{self._where}"

    def _describe(self) -> str:
        state = "not delayed" if self._hook is None else f"+{self._delay_s:g} s a pass"
        return f"{state} ({self._num_delays} delays so far)"

    def _sleep(self) -> None:
        self._num_delays += 1
        time.sleep(self._delay_s)

    def _in_forward(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        self._sleep()

    def _in_backward(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        import torch
        from torch.utils import _pytree as pytree

        for leaf in pytree.tree_leaves(output):
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                leaf.register_hook(lambda _: self._sleep())  # type: ignore[no-untyped-call]
                return
