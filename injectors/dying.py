"""The two parts that every crash shares: die at a place, and prove it from outside.

    rank: reaches step and layer -> FaultTriggered -> its process ends
    harness: sees the trigger -> there is no such process any more -> FaultInjected

A dead process proves nothing itself, so the harness does. There is no way back: the
heal says that it is still gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext, RankContext
from injectors.layers import pick_layer
from vocab.events import Change, FaultTriggered
from vocab.names import rank_name

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

_DEATH_WAIT_S = 10.0  # an exception first unwinds and closes what the job had open
_DEAD = ("gone", "Z", "X")


class Deathbed:
    """The rank's part: call `end` in the forward pass of a layer."""

    def __init__(
        self,
        context: RankContext,
        *,
        kind: str,
        layer: int | None,
        manner: str,
        end: Callable[[], None],
    ) -> None:
        self._context = context
        self._kind = kind
        self._manner = manner
        self._end = end
        self._name, self._layer = pick_layer(context, layer)
        self._hook: RemovableHandle | None = None

    def arm(self, step: int) -> None:
        """Wait for the layer's next forward pass."""

        def die(module: torch.nn.Module, args: Any) -> None:
            self.disarm()
            self._context.emit(
                FaultTriggered(
                    fault_id=self._context.fault_id,
                    kind=self._kind,
                    step=step,
                    detail=f"{self._manner} in the forward of {self._name}",
                )
            )
            self._end()

        if self._hook is None:
            self._hook = self._layer.register_forward_pre_hook(die)

    def disarm(self) -> None:
        """Remove the hook."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None


class Obituary:
    """The harness's part: see that the process is gone."""

    duration_s = 0.0

    def __init__(self, context: HostContext, *, rank: int) -> None:
        self._context = context
        self._rank = rank

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
