"""`crash.exit`: one rank's process ends by itself, with an exit code.

See `dying` for how it is proved.
"""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from injectors.dying import Deathbed, Obituary
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from vocab.events import Change


class CrashExit(RankParameters):
    """Where and how it ends."""

    kind: Literal["crash.exit"]
    layer: int | None = Field(
        None, ge=0, description="repeated layer, from 0; absent: drawn from the seed"
    )
    exit_code: int = Field(3, ge=1, le=255, description="its exit code")
    lifetime: Literal["one-shot"] = "one-shot"


class ExitSelf:
    """The rank's part: end at the wanted place of step `at_step`."""

    label = "Crash: exit"
    color = "#393b79"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: CrashExit, context: RankContext) -> None:
        self._parameters = parameters
        self._deathbed = Deathbed(
            context,
            kind=parameters.kind,
            layer=parameters.layer,
            manner=f"exit code {parameters.exit_code}",
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
        os._exit(self._parameters.exit_code)


class ExitSelfProof(Obituary):
    """The harness's part."""

    label = ExitSelf.label
    color = ExitSelf.color

    def __init__(self, parameters: CrashExit, context: HostContext) -> None:
        super().__init__(context, rank=parameters.rank)
