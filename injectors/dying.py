"""The two parts that every crash shares: die at a place, and prove it from outside.

    rank: reaches step and layer -> FaultTriggered -> its process ends
    harness: sees the trigger -> there is no such process any more -> FaultInjected

A dead process proves nothing itself, so the harness does. There is no way back: the
heal says that it is still gone.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from injectors.layers import pick_layer
from vocab.events import Change, FaultTriggered
from vocab.names import rank_name

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

_DEATH_WAIT_S = 10.0  # an exception first unwinds and closes what the job had open
_DEAD = ("gone", "Z", "X")


class CrashParameters(RankParameters):
    """Where a rank dies; its subclasses say how."""

    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class Deathbed(ABC):
    """The rank's part: dies in the forward pass of a layer of step `at_step`."""

    moment: Literal["step_start"] = "step_start"
    manner: str
    """How it dies, in words."""

    def __init__(self, parameters: CrashParameters, context: RankContext) -> None:
        self._kind = parameters.kind
        self._context = context
        self._name, self._layer = pick_layer(context, parameters.layer)
        self._hook: RemovableHandle | None = None

    @abstractmethod
    def die(self) -> None:
        """End this process."""

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the layer's next forward pass; the harness proves the rest."""

        def last_call(module: torch.nn.Module, args: Any) -> None:
            self._disarm()
            self._context.emit(
                FaultTriggered(
                    fault_id=self._context.fault_id,
                    kind=self._kind,
                    step=step,
                    detail=f"{self.manner} in the forward of {self._name}",
                )
            )
            self.die()

        if self._hook is None:
            self._hook = self._layer.register_forward_pre_hook(last_call)
        return ()

    def heal(self, step: int) -> Healing:
        """Disarm what has not happened."""
        self._disarm()
        return Healing(changes=())

    def _disarm(self) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None


class Obituary:
    """The harness's part: see that the process is gone."""

    duration_s = 0.0

    def __init__(self, parameters: RankParameters, context: HostContext) -> None:
        self._context = context
        self._rank = parameters.rank

    def inject(self) -> tuple[Change, ...]:
        """Wait until the process has ended.

        Raises:
            CannotInject: it lives.
        """
        deadline = time.monotonic() + _DEATH_WAIT_S
        while (state := self._context.process_state(self._rank)) not in _DEAD:
            if time.monotonic() > deadline:
                raise CannotInject(f"rank{self._rank} did not die: state {state}")
            time.sleep(0.005)
        return (self._change("running", "ended"),)

    def heal(self) -> Healing:
        """Nothing brings it back."""
        return Healing(
            changes=(self._change("ended", "ended"),), residue="the process is gone"
        )

    def _change(self, before: str, after: str) -> Change:
        what = f"process of {rank_name(self._rank)}"
        return Change(what=what, before=before, after=after)
