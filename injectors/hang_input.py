"""`hang.input`: the fetch of a batch blocks, as on a dead network file system."""

from __future__ import annotations

from typing import Literal

from injectors.blockade import Blockade, BlockParameters, Witness
from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext
from vocab.events import Change


class HangInput(BlockParameters):
    """The step whose batch does not come, and for how long."""

    kind: Literal["hang.input"]


class BlockedFetch:
    """The fault at work in its rank."""

    label = "Hang: blocked input"
    color = "#17becf"
    moment: Literal["before_fetch"] = "before_fetch"

    def __init__(self, parameters: HangInput, context: RankContext) -> None:
        if context.before_fetch is None:
            raise CannotInject("the job shows no data set whose fetches can be blocked")
        self._hooks = context.before_fetch
        self._step = 0
        self._blockade = Blockade(Witness(self, parameters, context))

    def inject(self, step: int) -> tuple[Change, ...]:
        """Hook the next fetch; the block proves itself when it comes."""
        self._step = step
        if self._on_fetch not in self._hooks:
            self._hooks.append(self._on_fetch)
        return ()

    def heal(self, step: int) -> Healing:
        """Unhook; who is blocked is let go by the witness."""
        if self._on_fetch in self._hooks:
            self._hooks.remove(self._on_fetch)
        return Healing(changes=())

    def _on_fetch(self) -> None:
        self.heal(self._step)
        self._blockade.hold(self._step, f"the fetch of step {self._step}'s batch")
