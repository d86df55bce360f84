"""What faults of a whole host share: a rank says when, the engine does it.

    rank: step `at_step` begins -> FaultTriggered (`trigger`)
    harness: engine call -> its own word for the host before and after -> FaultInjected

The host is named by one of its ranks; everything on it is struck. Only where hosts are
containers (`runtime: docker`): without an engine the fault is not injected.
"""

from __future__ import annotations

import time
from typing import Literal

from injectors.errors import CannotInject
from injectors.fault import HostContext, HostEngine, RankParameters
from vocab.events import Change

PROOF_S = 10.0
_LOOK_S = 0.02


class HostFaultParameters(RankParameters):
    """A rank of the host that is struck, and when."""

    kind: str
    lifetime: Literal["one-shot"] = "one-shot"


class OnHost:
    """The engine and the host of one fault."""

    def __init__(self, parameters: RankParameters, context: HostContext) -> None:
        self.rank = parameters.rank
        self._engine = context.engine

    @property
    def engine(self) -> HostEngine:
        """The engine.

        Raises:
            CannotInject: hosts are no containers here.
        """
        if self._engine is None:
            raise CannotInject("hosts are no containers; allowed: runtime: docker")
        return self._engine

    def change(self, before: str, after: str, what: str = "state") -> Change:
        """What changed of the host."""
        name = self.engine.name_of(self.rank)
        return Change(what=f"{what} of {name}", before=before, after=after)

    def await_state(self, wanted: str) -> str:
        """Wait for the engine to show a state that begins so; returns the last one."""
        deadline = time.monotonic() + PROOF_S
        while not (state := self.engine.state_of(self.rank)).startswith(wanted):
            if time.monotonic() > deadline:
                name = self.engine.name_of(self.rank)
                raise CannotInject(f"{name} is {state}, not {wanted}")
            time.sleep(_LOOK_S)
        return state
