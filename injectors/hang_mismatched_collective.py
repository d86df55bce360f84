"""`hang.mismatched_collective`: a call of one rank differs from its peers' in a field.

What follows on gloo (measured, see FACTS "Mismatched collectives on gloo rarely hang"):

    op         a broadcast meets all_reduces        stalls
    shape      two elements, peers have one         peers go on, the culprit hangs
    dtype      int32: completes with wrong numbers  float64: aborts a healthy neighbour
    reduction  MAX among SUMs                       completes with wrong numbers
    root       another source of a broadcast        two ranks finish, two stall
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from injectors.fault import RankContext, RankParameters
from injectors.one_call import Call, Deed, OneCall, describe

_RESIDUE = "what was reduced in this call is wrong, or the group is stuck in it"


class HangMismatchedCollective(RankParameters):
    """Which field of the call differs."""

    kind: Literal["hang.mismatched_collective"]
    field: Literal["op", "shape", "dtype", "reduction", "root"] = Field(
        description="what differs; root needs a job with `stop_signal`"
    )
    dtype: Literal["int32", "float64"] = Field(
        "int32", description="only for field dtype: the type that is sent"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class MismatchedCollective(OneCall):
    """The fault at work in its rank."""

    label = "Hang: mismatched collective"
    color = "#bcbd22"

    def __init__(
        self, parameters: HangMismatchedCollective, context: RankContext
    ) -> None:
        super().__init__(parameters, context)
        self._parameters = parameters
        self._rank = context.rank
        self.function = "broadcast" if parameters.field == "root" else "all_reduce"

    def act(
        self, original: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Deed:
        """Make the call with another value in the field that is to differ."""
        import torch
        import torch.distributed as dist

        tensor = args[0]
        name, call, sent = "all_reduce", original, tensor
        match self._parameters.field:
            case "op":
                name, call, kwargs = "broadcast", dist.broadcast, {"src": self._rank}
            case "root":
                name, kwargs = "broadcast", {**kwargs, "src": self._rank}
            case "reduction":
                kwargs = {**kwargs, "op": dist.ReduceOp.MAX}
            case "shape":
                sent = torch.cat([tensor, tensor])
            case "dtype":
                sent = tensor.to(getattr(torch, self._parameters.dtype))

        def run() -> None:
            call(sent, *args[1:], **kwargs)
            if sent is not tensor:  # the job reads its own tensor afterwards
                tensor.copy_(sent[: tensor.numel()])

        return Deed(run=run, instead=describe(name, (sent,), kwargs), residue=_RESIDUE)
