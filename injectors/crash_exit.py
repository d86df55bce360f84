"""`crash.exit`: one rank's process ends by itself, with an exit code.

See `dying` for how it is proved.
"""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from injectors.dying import CrashParameters, Deathbed, Obituary
from injectors.fault import RankContext


class CrashExit(CrashParameters):
    """With which exit code it ends."""

    kind: Literal["crash.exit"]
    exit_code: int = Field(3, ge=1, le=255, description="its exit code")


class ExitSelf(Deathbed):
    """The rank's part."""

    label = "Crash: exit"
    color = "#393b79"

    def __init__(self, parameters: CrashExit, context: RankContext) -> None:
        super().__init__(parameters, context)
        self._exit_code = parameters.exit_code
        self.manner = f"exit code {parameters.exit_code}"

    def die(self) -> None:
        """Leave without a word to anybody."""
        os._exit(self._exit_code)


class ExitSelfProof(Obituary):
    """The harness's part."""

    label = ExitSelf.label
    color = ExitSelf.color
