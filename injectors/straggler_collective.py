"""`straggler.collective`: collectives are slow, before one rank enters or inside.

    entry    sleep -> the job's call                 one rank is late, all wait for it
    inside   pause gloo's threads -> the job's call -> they go on after `delay_s`
             every rank is in the collective in time, and it takes long

Delays each call that the job makes on its main group; those of a diagnosis are on
groups of their own and go through untouched.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from injectors.fault import Healing, RankContext, RankParameters
from injectors.transport import Transport
from vocab.events import Change


class StragglerCollective(RankParameters):
    """Which collective, where it is slow, and by how much."""

    kind: Literal["straggler.collective"]
    delay_s: float = Field(
        0.25, gt=0, le=60, description="seconds that each call loses"
    )
    where: Literal["entry", "inside"] = Field(
        "entry",
        description="entry: the rank comes late; inside: its transport stands still "
        "while all ranks are in",
    )
    call: Literal["all_reduce", "broadcast", "barrier"] = Field(
        "all_reduce",
        description="the job's calls of this function (all_reduce is that of the loss)",
    )


class SlowCollective:
    """The fault at work in its rank."""

    label = "Straggler: slow collective"
    color = "#a1d99b"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: StragglerCollective, context: RankContext) -> None:
        self._parameters = parameters
        self._num_delays = 0
        self._original: Callable[..., Any] | None = None

    def inject(self, step: int) -> tuple[Change, ...]:
        """Put a function in place that delays each call."""
        import torch.distributed as dist

        before = self._describe()
        if self._original is None:
            self._original = getattr(dist, self._parameters.call)
            setattr(dist, self._parameters.call, self._on_call)
        return (self._change(before),)

    def heal(self, step: int) -> Healing:
        """Put the function back."""
        import torch.distributed as dist

        before = self._describe()
        if self._original is not None:
            setattr(dist, self._parameters.call, self._original)
            self._original = None
        return Healing(changes=(self._change(before),))

    def _on_call(self, *args: Any, **kwargs: Any) -> Any:
        original = self._original
        assert original is not None, "in place only while the fault is active"
        if kwargs.get("group") is not None:
            return original(*args, **kwargs)
        self._num_delays += 1
        if self._parameters.where == "entry":
            time.sleep(self._parameters.delay_s)
            return original(*args, **kwargs)
        transport = Transport()
        transport.pause()
        timer = threading.Timer(self._parameters.delay_s, transport.go_on)
        timer.daemon = True
        timer.start()
        try:
            return original(*args, **kwargs)
        finally:
            timer.join()  # nothing stays paused, whatever the call did

    def _change(self, before: str) -> Change:
        what = f"{self._parameters.where} of torch.distributed.{self._parameters.call}"
        return Change(what=what, before=before, after=self._describe())

    def _describe(self) -> str:
        is_on = self._original is not None
        state = f"+{self._parameters.delay_s:g} s a call" if is_on else "not delayed"
        return f"{state} ({self._num_delays} delays so far)"
