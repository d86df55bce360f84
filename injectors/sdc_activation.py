"""`sdc.activation`: a module's output, or the gradient at it, is wrong in one rank.

    forward    a forward hook hands on a wrong copy of the first floating-point output
    backward   a tensor hook on that output hands on a wrong copy of its gradient

Both act in training and in replays. A single strike in training leaves nothing to find:
the reduction spreads its effect to all replicas alike (SCOUT sec. 11).
Data-dependent: with bounds on the input's RMS it strikes only where they hold, as
defective units do that fail for some values only (SCOUT sec. 6.1.1 "Input variation").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from injectors.fault import Healing, RankContext
from injectors.in_passing import InPassing, PassingParameters
from injectors.layers import pick_module
from vocab.events import Change

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class SdcActivation(PassingParameters):
    """Which module, in which pass, for which inputs."""

    kind: Literal["sdc.activation"]
    module: str | None = Field(
        None, description="name of the module; absent: a repeated layer, drawn"
    )
    where: Literal["forward", "backward"] = Field(
        "forward", description="the output, or the gradient that arrives at it"
    )
    min_input_rms: float | None = Field(
        None, ge=0, allow_inf_nan=False,
        description="strikes only if the RMS of the module's input is at least this; "
        "absent: always",
    )  # fmt: skip
    max_input_rms: float | None = Field(
        None, ge=0, allow_inf_nan=False,
        description="strikes only if the RMS of the module's input is below this; "
        "absent: always",
    )  # fmt: skip


class SdcActivationFault:
    """The fault at work in its rank."""

    label = "SDC: wrong activation"
    color = "#bc5090"

    def __init__(self, parameters: SdcActivation, context: RankContext) -> None:
        self.moment = parameters.moment
        self._where = parameters.where
        self._min = parameters.min_input_rms
        self._max = parameters.max_input_rms
        name, self._module = pick_module(context, parameters.module)
        what = "output" if self._where == "forward" else "output.grad"
        self._passing = InPassing(parameters, context, f"{name}.{what}")
        self._hook: RemovableHandle | None = None

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the module's call; it proves itself when it comes."""
        self._passing.arm()
        if self._hook is None:
            self._hook = self._module.register_forward_hook(
                self._on_call, with_kwargs=True
            )
        return ()

    def heal(self, step: int) -> Healing:
        """Leave the module as it was."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        return Healing(changes=self._passing.disarm())

    def _on_call(
        self, module: torch.nn.Module, args: Any, kwargs: Any, output: Any
    ) -> Any:
        import torch
        from torch.utils import _pytree as pytree

        if not self._is_met(pytree.tree_leaves((args, kwargs))):
            return None
        leaves, spec = pytree.tree_flatten(output)
        for index, leaf in enumerate(leaves):
            if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
                continue
            if self._where == "forward":
                return self._with_wrong(leaves, index, spec)
            if leaf.requires_grad:
                leaf.register_hook(  # type: ignore[no-untyped-call]
                    self._passing.replaced
                )
            return None
        return None

    def _with_wrong(self, leaves: list[Any], index: int, spec: Any) -> Any:
        from torch.utils import _pytree as pytree

        from injectors.straight_through import swapped

        wrong = self._passing.replaced(leaves[index])
        if wrong is None:
            return None
        leaves[index] = swapped(leaves[index], wrong)
        return pytree.tree_unflatten(leaves, spec)

    def _is_met(self, inputs: list[Any]) -> bool:
        import torch

        if self._min is None and self._max is None:
            return True
        given = next((t for t in inputs if isinstance(t, torch.Tensor)), None)
        if given is None:
            return False
        rms = float(given.detach().double().square().mean().sqrt())
        return (self._min is None or rms >= self._min) and (
            self._max is None or rms < self._max
        )
