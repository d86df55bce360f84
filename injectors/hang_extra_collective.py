"""`hang.extra_collective`: a rank runs one collective more than its peers: it is ahead.

The second call waits for whatever the peers call next; where that has another size gloo
aborts a process, here the culprit's, whose buffer is the smaller one (FACTS).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from injectors.fault import Healing, RankContext, RankParameters
from injectors.one_call import Deed, OneCall
from vocab.events import Change


class HangExtraCollective(RankParameters):
    """The step in which the all_reduce of the loss runs twice."""

    kind: Literal["hang.extra_collective"]
    lifetime: Literal["one-shot"] = "one-shot"


class ExtraCollective:
    """The fault at work in its rank."""

    label = "Hang: extra collective"
    color = "#e377c2"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangExtraCollective, context: RankContext) -> None:
        self._call = OneCall(
            context,
            kind=parameters.kind,
            label=self.label,
            color=self.color,
            function="all_reduce",
            act=_twice,
        )

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the call; it proves itself when it comes."""
        self._call.arm(step)
        return ()

    def heal(self, step: int) -> Healing:
        """Put the function back if it was not called."""
        self._call.disarm()
        return Healing(changes=())


def _twice(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Deed:
    def run() -> Any:
        again = args[0].clone()
        result = original(*args, **kwargs)
        original(again, *args[1:], **kwargs)
        return result

    return Deed(
        run=run,
        instead="the same call twice",
        residue="its collectives stay one ahead of those of its peers",
    )
