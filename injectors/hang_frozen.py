"""`hang.frozen`: a rank's process freezes (SIGSTOP) at a place drawn from the seed.

rank: reaches step and layer -> FaultTriggered -> SIGSTOP to itself
harness: sees the trigger -> reads state T -> FaultInjected -> duration -> SIGCONT
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from injectors.layers import pick_layer
from vocab.events import Change, FaultTriggered

_STATE_WAIT_S = 5.0  # a SIGSTOP is delivered at the next return to user space


class HangFrozen(RankParameters):
    """Where the rank freezes, and for how long."""

    kind: Literal["hang.frozen"]
    duration_s: float = Field(
        5.0, gt=0, le=3600, description="seconds until it is let go again"
    )
    where: Literal["forward", "backward", "optimizer"] = Field(
        "forward", description="phase of the step in which it freezes"
    )
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class FreezeSelf:
    """The rank's part: stop itself at the wanted place of step `at_step`."""

    label = "Hang: frozen process"
    color = "#9467bd"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangFrozen, context: RankContext) -> None:
        self._parameters = parameters
        self._context = context
        self._remove: list[Callable[[], None]] = []

    def inject(self, step: int) -> tuple[Change, ...]:
        """Arm the freeze for this step; the harness proves it (no change to report)."""
        if not self._remove:
            if self._parameters.where == "optimizer":
                handle = self._context.optimizer.register_step_pre_hook(
                    lambda *_: self._freeze(step, "optimizer")
                )
                self._remove.append(handle.remove)
            else:
                self._arm_layer(step)
        return ()

    def heal(self, step: int) -> Healing:
        """Disarm; the thaw itself is the harness's."""
        for remove in self._remove:
            remove()
        self._remove.clear()
        return Healing(changes=())

    def _arm_layer(self, step: int) -> None:
        name, layer = pick_layer(self._context, self._parameters.layer)

        def in_forward(module: Any, args: Any, output: Any) -> None:
            if self._parameters.where == "forward":
                self._freeze(step, f"forward of {name}")
            else:
                output.register_hook(
                    lambda _: self._freeze(step, f"backward of {name}")
                )

        self._remove.append(layer.register_forward_hook(in_forward).remove)

    def _freeze(self, step: int, detail: str) -> None:
        if not self._remove:
            return
        self.heal(step)
        self._context.emit(
            FaultTriggered(
                fault_id=self._context.fault_id,
                kind=self._parameters.kind,
                step=step,
                detail=detail,
            )
        )
        os.kill(os.getpid(), signal.SIGSTOP)


class Thaw:
    """The harness's part: prove the freeze, and end it."""

    label = FreezeSelf.label
    color = FreezeSelf.color

    def __init__(self, parameters: HangFrozen, context: HostContext) -> None:
        self.duration_s = parameters.duration_s
        self._rank = parameters.rank
        self._context = context

    def inject(self) -> tuple[Change, ...]:
        """Wait until the process is really stopped.

        Raises:
            CannotInject: it did not stop, or is gone.
        """
        state = self._wait_for(lambda state: state == "T")
        if state != "T":
            raise CannotInject(f"rank{self._rank} did not stop: state {state}")
        return (self._change("running", "T (stopped)"),)

    def heal(self) -> Healing:
        """Let the process run again."""
        before = self._context.process_state(self._rank)
        if before == "T":
            self._context.send_signal(self._rank, signal.SIGCONT)
            self._wait_for(lambda state: state != "T")
        after = self._context.process_state(self._rank)
        return Healing(changes=(self._change(before, after),))

    def _change(self, before: str, after: str) -> Change:
        what = f"process state of rank{self._rank}"
        return Change(what=what, before=before, after=after)

    def _wait_for(self, wanted: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + _STATE_WAIT_S
        while True:
            state = self._context.process_state(self._rank)
            if wanted(state) or state == "gone" or time.monotonic() > deadline:
                return state
            time.sleep(0.005)
