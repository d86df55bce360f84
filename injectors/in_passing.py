"""Make values wrong on their way through a hook: activations and gradients.

    arm() -> a value passes -> a wrong copy goes on, FaultInjected -> ... -> disarm()

Shared by the faults whose values live in no stored tensor. Training passes and replays
pass alike. A one-shot strikes the first value that passes, and no other. A hook must
not raise into the job: what cannot be struck becomes `FaultFailed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from injectors.corruption import CorruptingParameters, Corruption
from injectors.errors import CannotInject
from injectors.fault import Moment, RankContext
from injectors.tampering import Tampering
from vocab.events import Change, FaultFailed

if TYPE_CHECKING:
    import torch


class PassingParameters(CorruptingParameters):
    """Fields of the faults whose values are wrong in passing."""

    passes: Literal["all", "beside_training"] = Field(
        "all",
        description="strikes in all passes, or only in those between an update and the "
        "next step, such as replays (SCOUT sec. 10.2)",
    )

    @property
    def moment(self) -> Moment:
        """When in a step it begins to wait for values."""
        return "step_start" if self.passes == "all" else "beside_training"


class InPassing:
    """One fault's values in passing, from `arm` to `disarm`."""

    def __init__(
        self, parameters: PassingParameters, context: RankContext, name: str
    ) -> None:
        self._kind = parameters.kind
        self._one_shot = parameters.lifetime == "one-shot"
        self._context = context
        self._name = name
        self._tampering = Tampering(Corruption.of(parameters, context), name)
        self._is_armed = False
        self._is_impossible = False
        self._num_wrong = 0

    def arm(self) -> None:
        """From now on values are made wrong."""
        self._is_armed = not self._is_impossible

    def disarm(self) -> tuple[Change, ...]:
        """From now on values pass; says how many were made wrong."""
        self._is_armed = False
        if not self._num_wrong:
            return ()
        what, count = f"{self._name} in passing", self._num_wrong
        self._num_wrong = 0
        return (Change(what=what, before=f"{count} made wrong", after="untouched"),)

    def replaced(self, value: torch.Tensor) -> torch.Tensor | None:
        """What goes on in place of `value`; None: it goes on itself."""
        if not self._is_armed:
            return None
        try:
            wrong, changes = self._tampering.wrong_copy(value)
        except CannotInject as error:
            self._is_armed, self._is_impossible = False, True
            self._context.emit(
                FaultFailed(
                    fault_id=self._context.fault_id, kind=self._kind, reason=str(error)
                )
            )
            return None
        if not changes:
            return None
        if self._one_shot:
            self._is_armed = False
        self._num_wrong += 1
        self._context.prove(changes)
        return wrong
