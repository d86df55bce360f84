"""`crash.exception`: an exception that nobody catches ends one rank.

See `dying` for how it is proved.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from injectors.dying import CrashParameters, Deathbed, Obituary
from injectors.fault import RankContext


class CrashException(CrashParameters):
    """With which text it ends."""

    kind: Literal["crash.exception"]
    message: str = Field(
        "injected: out of memory", max_length=200, description="its text"
    )


class RaiseSelf(Deathbed):
    """The rank's part."""

    label = "Crash: exception"
    color = "#843c39"
    manner = "an exception"

    def __init__(self, parameters: CrashException, context: RankContext) -> None:
        super().__init__(parameters, context)
        self._message = parameters.message

    def die(self) -> None:
        """Raise what nobody catches."""
        raise RuntimeError(self._message)


class RaiseSelfProof(Obituary):
    """The harness's part."""

    label = RaiseSelf.label
    color = RaiseSelf.color
