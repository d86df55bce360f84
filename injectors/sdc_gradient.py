"""`sdc.gradient`: a gradient of one rank is wrong, before or after its reduction.

Before: what the backward pass hands to the reduction is wrong. The reduction makes all
replicas' gradients equally wrong, so only a replay of the backward pass can tell who it
was; a single strike leaves no difference between the replicas.
After: the reduced gradient is wrong in this rank alone when its update reads it. The
update carries it into the weights: a residue, whatever the lifetime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from injectors.corruption import Corruption
from injectors.errors import CannotInject
from injectors.fault import Healing, Moment, RankContext
from injectors.in_passing import InPassing, PassingParameters
from injectors.layers import pick_parameter
from injectors.tampering import Tampering
from vocab.events import Change

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle


class SdcGradient(PassingParameters):
    """Which parameter's gradient; what is absent is drawn from the seed."""

    kind: Literal["sdc.gradient"]
    parameter: str | None = Field(
        None, description="name of the parameter; absent: drawn from a repeated layer"
    )
    where: Literal["before", "after"] = Field(
        "before", description="before or after the gradient is reduced over the ranks"
    )

    @model_validator(mode="after")
    def _reduced_gradients_are_in_training(self) -> Self:
        if self.where == "after" and self.passes != "all":
            raise ValueError(
                f"passes is {self.passes!r}; allowed where the gradient is reduced: all"
            )
        return self


def make_sdc_gradient(
    parameters: SdcGradient, context: RankContext
) -> BeforeReduction | AfterReduction:
    """The fault for where it strikes."""
    if parameters.where == "before":
        return BeforeReduction(parameters, context)
    return AfterReduction(parameters, context)


class BeforeReduction:
    """The fault at work in its rank, in backward passes and their replays."""

    label = "SDC: wrong local gradient"
    color = "#8c564b"

    def __init__(self, parameters: SdcGradient, context: RankContext) -> None:
        self.moment = parameters.moment
        name, self._parameter = pick_parameter(context, parameters.parameter)
        self._passing = InPassing(parameters, context, f"{name}.grad")
        self._hook: RemovableHandle | None = None

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the gradient; it proves itself when it passes."""
        self._passing.arm()
        if self._hook is None:
            self._hook = self._parameter.register_hook(  # type: ignore[no-untyped-call]
                self._passing.replaced
            )
        return ()

    def heal(self, step: int) -> Healing:
        """Let gradients pass untouched again."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        return Healing(changes=self._passing.disarm())


class AfterReduction:
    """The fault at work in its rank, right before each update."""

    label = "SDC: wrong reduced gradient"
    color = "#e377c2"
    moment: Moment = "update_start"

    def __init__(self, parameters: SdcGradient, context: RankContext) -> None:
        self._name, self._parameter = pick_parameter(context, parameters.parameter)
        name = f"{self._name}.grad"
        self._tampering = Tampering(Corruption.of(parameters, context), name)
        self._tampering.check(self._parameter)
        self._step = 0

    def inject(self, step: int) -> tuple[Change, ...]:
        """Make the gradient wrong, once for each update."""
        gradient = self._parameter.grad
        if gradient is None or gradient.is_sparse:
            raise CannotInject(f"{self._name} has no dense gradient to make wrong")
        if step != self._step:
            self._step = step
            self._tampering.forget()
        return self._tampering.strike(gradient)

    def heal(self, step: int) -> Healing:
        """The update has read the gradient: nothing to give back."""
        left = self._tampering.forget()
        residue = f"{self._name} was updated with {left}" if left else ""
        return Healing(changes=(), residue=residue)
