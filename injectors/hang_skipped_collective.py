"""`hang.skipped_collective`: a rank leaves out one collective that its peers run.

A branch that only one rank takes does this in real jobs. From there on all its calls
pair off with the peers' by one: on gloo the next one of another size aborts a healthy
neighbour, while the culprit lives (FACTS).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from injectors.fault import RankContext, RankParameters
from injectors.one_call import Call, Deed, OneCall


class HangSkippedCollective(RankParameters):
    """Which collective is left out."""

    kind: Literal["hang.skipped_collective"]
    call: Literal["all_reduce", "broadcast", "barrier"] = Field(
        "all_reduce",
        description="the job's next call of this function is left out (all_reduce is "
        "that of the loss)",
    )
    lifetime: Literal["one-shot"] = "one-shot"


class SkippedCollective(OneCall):
    """The fault at work in its rank."""

    label = "Hang: skipped collective"
    color = "#8c564b"

    def __init__(self, parameters: HangSkippedCollective, context: RankContext) -> None:
        super().__init__(parameters, context)
        self.function = parameters.call

    def act(
        self, original: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Deed:
        """Call nothing."""
        return Deed(
            run=lambda: None,
            instead="no call at all",
            residue="its collectives stay one behind those of its peers",
        )
