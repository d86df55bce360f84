"""`hang.extra_collective`: a rank runs one collective more than its peers: it is ahead.

The second call waits for whatever the peers call next; where that has another size gloo
aborts a process, here the culprit's, whose buffer is the smaller one (FACTS).
"""

from __future__ import annotations

from typing import Any, Literal

from injectors.fault import RankParameters
from injectors.one_call import Call, Deed, OneCall


class HangExtraCollective(RankParameters):
    """The step in which the all_reduce of the loss runs twice."""

    kind: Literal["hang.extra_collective"]
    lifetime: Literal["one-shot"] = "one-shot"


class ExtraCollective(OneCall):
    """The fault at work in its rank."""

    label = "Hang: extra collective"
    color = "#e377c2"

    def act(
        self, original: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Deed:
        """Call it twice, the second time with a copy of what came in."""

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
