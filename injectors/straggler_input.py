"""`straggler.input`: each fetch of one rank's batches is slow."""

from __future__ import annotations

import time
from typing import Literal

from pydantic import Field

from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change


class StragglerInput(RankParameters):
    """How long each fetch is delayed."""

    kind: Literal["straggler.input"]
    delay_s: float = Field(0.25, gt=0, le=60, description="seconds that a fetch loses")


class SlowFetch:
    """The fault at work in its rank."""

    label = "Straggler: slow input"
    color = "#ffbb78"
    moment: Literal["before_fetch"] = "before_fetch"

    def __init__(self, parameters: StragglerInput, context: RankContext) -> None:
        if context.before_fetch is None:
            raise CannotInject("the job shows no data set whose fetches can be delayed")
        self._hooks = context.before_fetch
        self._delay_s = parameters.delay_s
        self._num_delays = 0

    def inject(self, step: int) -> tuple[Change, ...]:
        """Install the hook that sleeps."""
        before = self._describe()
        if self._on_fetch not in self._hooks:
            self._hooks.append(self._on_fetch)
        return (Change(what="fetch", before=before, after=self._describe()),)

    def heal(self, step: int) -> Healing:
        """Remove the hook."""
        before = self._describe()
        if self._on_fetch in self._hooks:
            self._hooks.remove(self._on_fetch)
        change = Change(what="fetch", before=before, after=self._describe())
        return Healing(changes=(change,))

    def _describe(self) -> str:
        is_on = self._on_fetch in self._hooks
        state = f"+{self._delay_s:g} s a fetch" if is_on else "not delayed"
        return f"{state} ({self._num_delays} delays so far)"

    def _on_fetch(self) -> None:
        self._num_delays += 1
        time.sleep(self._delay_s)
