"""`observer.kill`: a rank's observer dies, and nobody may be blamed (SCOUT sec. 7).

The authors' package loses every trainer with one observer. Here the trainer goes on,
says that its watch was interrupted, and starts another. The fault finds the observer as
the rank's child process that runs it, and never touches the rank.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change

_OBSERVER = b"scout.observer_main"


class ObserverKill(RankParameters):
    """Which rank's observer, and at which step."""

    kind: Literal["observer.kill"]
    lifetime: Literal["one-shot"] = "one-shot"


class KillObserver:
    """Kills the observer at the start of step `at_step`."""

    label = "Observer killed"
    color = "#9c9ede"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: ObserverKill, context: RankContext) -> None:
        self._change = Change(what="nothing", before="unchanged", after="unchanged")

    def inject(self, step: int) -> tuple[Change, ...]:
        """Kill it now.

        Raises:
            CannotInject: this rank has no observer.
        """
        observers = _observers()
        if not observers:
            raise CannotInject("this rank has no observer; allowed: scout.observer on")
        for pid in observers:
            os.kill(pid, signal.SIGKILL)
        found = ", ".join(str(pid) for pid in observers)
        return (Change(what=f"observer process {found}", before="alive", after="dead"),)

    def heal(self, step: int) -> Healing:
        """Nothing to put back: SCOUT brings it back itself."""
        return Healing(changes=(self._change,))


def _observers() -> list[int]:
    """Child processes of this one that are observers."""
    found = []
    for listed in Path("/proc/self/task").glob("*/children"):
        for pid in listed.read_text().split():
            try:
                command = Path("/proc", pid, "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            if _OBSERVER in command:
                found.append(int(pid))
    return found
