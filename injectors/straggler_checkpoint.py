"""`straggler.checkpoint`: one rank's storage is slow: each `torch.save` loses time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change


class StragglerCheckpoint(RankParameters):
    """How long each save is delayed."""

    kind: Literal["straggler.checkpoint"]
    delay_s: float = Field(0.5, gt=0, le=600, description="seconds that a save loses")


class SlowSave:
    """The fault at work in its rank."""

    label = "Straggler: slow checkpoint"
    color = "#98df8a"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: StragglerCheckpoint, context: RankContext) -> None:
        self._delay_s = parameters.delay_s
        self._num_delays = 0
        self._original: Callable[..., Any] | None = None

    def inject(self, step: int) -> tuple[Change, ...]:
        """Put a `torch.save` in place that sleeps first."""
        import torch

        before = self._describe()
        if self._original is None:
            self._original = torch.save
            torch.save = self._save
        return (Change(what="torch.save", before=before, after=self._describe()),)

    def heal(self, step: int) -> Healing:
        """Put `torch.save` back."""
        import torch

        before = self._describe()
        if self._original is not None:
            torch.save = self._original
            self._original = None
        change = Change(what="torch.save", before=before, after=self._describe())
        return Healing(changes=(change,))

    def _describe(self) -> str:
        is_on = self._original is not None
        state = f"+{self._delay_s:g} s a save" if is_on else "not delayed"
        return f"{state} ({self._num_delays} delays so far)"

    def _save(self, *args: Any, **kwargs: Any) -> Any:
        assert self._original is not None, "in place only while the fault is active"
        self._num_delays += 1
        time.sleep(self._delay_s)
        return self._original(*args, **kwargs)
