"""`contention.neighbour`: processes that spin beside the job. A control: nobody slow.

Every rank gets less of the CPUs, and none is at fault: time in the run queue is not
charged (FACTS "CPU contention against a real straggler").
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Literal

from pydantic import Field

from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext, RankParameters
from vocab.events import Change

_SPIN = "while True: pass"
_PROOF_S = 0.2
_WAIT_S = 5.0


class ContentionNeighbour(RankParameters):
    """How many neighbours, and when."""

    kind: Literal["contention.neighbour"]
    rank: int = Field(0, ge=0, description="rank whose steps begin and end it")
    num_processes: int = Field(2, ge=1, le=64, description="processes that spin")
    lifetime: Literal["persistent"] = "persistent"

    @property
    def targets(self) -> tuple[str, ...]:
        """The machine: no rank is struck."""
        return ("host0",)


class BusyNeighbour:
    """The harness's part: start the neighbours, and end them."""

    label = "Control: busy neighbour"
    color = "#969696"
    duration_s = math.inf  # until the window's last step

    def __init__(self, parameters: ContentionNeighbour, context: HostContext) -> None:
        self._num_processes = parameters.num_processes
        self._neighbours: list[subprocess.Popen[bytes]] = []

    def inject(self) -> tuple[Change, ...]:
        """Start them; they inherit the run's mark, so a sweep finds them, too.

        Raises:
            CannotInject: one ended at once.
        """
        while len(self._neighbours) < self._num_processes:
            self._neighbours.append(
                subprocess.Popen(
                    [sys.executable, "-S", "-c", _SPIN], stdin=subprocess.DEVNULL
                )
            )
        time.sleep(_PROOF_S)
        living = self._num_living()
        if living < self._num_processes:
            raise CannotInject(f"{living} of {self._num_processes} neighbours run")
        return (self._change("none", f"{living} that spin"),)

    def heal(self) -> Healing:
        """End them."""
        before = f"{self._num_living()} that spin"
        for neighbour in self._neighbours:
            neighbour.kill()
            neighbour.wait(timeout=_WAIT_S)
        self._neighbours.clear()
        return Healing(changes=(self._change(before, "none"),))

    def _num_living(self) -> int:
        return sum(neighbour.poll() is None for neighbour in self._neighbours)

    def _change(self, before: str, after: str) -> Change:
        return Change(what="neighbour processes", before=before, after=after)
