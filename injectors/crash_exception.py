"""`crash.exception`: an exception that nobody catches ends one rank.

See `dying` for how it is proved.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.dying import Deathbed, Obituary
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from vocab.events import Change


class CrashException(RankParameters):
    """Where and how it ends."""

    kind: Literal["crash.exception"]
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )
    message: str = Field(
        "injected: out of memory", max_length=200, description="its text"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class RaiseSelf:
    """The rank's part: end at the wanted place of step `at_step`."""

    label = "Crash: exception"
    color = "#843c39"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: CrashException, context: RankContext) -> None:
        self._parameters = parameters
        self._deathbed = Deathbed(
            context,
            kind=parameters.kind,
            layer=parameters.layer,
            manner="an exception",
            end=self._die,
        )

    def inject(self, step: int) -> tuple[Change, ...]:
        """Arm it for this step; the harness proves it."""
        self._deathbed.arm(step)
        return ()

    def heal(self, step: int) -> Healing:
        """Disarm what has not happened."""
        self._deathbed.disarm()
        return Healing(changes=())

    def _die(self) -> None:
        raise RuntimeError(self._parameters.message)


class RaiseSelfProof(Obituary):
    """The harness's part."""

    label = RaiseSelf.label
    color = RaiseSelf.color

    def __init__(self, parameters: CrashException, context: HostContext) -> None:
        super().__init__(context, rank=parameters.rank)
