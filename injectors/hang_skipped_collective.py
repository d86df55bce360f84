"""`hang.skipped_collective`: a rank leaves out one collective that its peers run.

A branch that only one rank takes does this in real jobs. From there on all its calls
pair off with the peers' by one: on gloo the next one of another size aborts a healthy
neighbour, while the culprit lives (FACTS).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from injectors.fault import Healing, RankContext, RankParameters
from injectors.one_call import Deed, OneCall
from vocab.events import Change


class HangSkippedCollective(RankParameters):
    """Which collective is left out."""

    kind: Literal["hang.skipped_collective"]
    call: Literal["all_reduce", "broadcast", "barrier"] = Field(
        "all_reduce",
        description="the job's next call of this function is left out (all_reduce is "
        "that of the loss)",
    )
    lifetime: Literal["one-shot"] = "one-shot"


class SkippedCollective:
    """The fault at work in its rank."""

    label = "Hang: skipped collective"
    color = "#8c564b"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangSkippedCollective, context: RankContext) -> None:
        self._call = OneCall(
            context,
            kind=parameters.kind,
            label=self.label,
            color=self.color,
            function=parameters.call,
            act=_skip,
        )

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the call; it proves itself when it comes."""
        self._call.arm(step)
        return ()

    def heal(self, step: int) -> Healing:
        """Put the function back if it was not called."""
        self._call.disarm()
        return Healing(changes=())


def _skip(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Deed:
    return Deed(
        run=lambda: None,
        instead="no call at all",
        residue="its collectives stay one behind those of its peers",
    )
