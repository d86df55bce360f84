"""`straggler.throttle`: a rank is stopped and let go in turns (SIGSTOP, SIGCONT).

    harness: STOP ── stop_s ── CONT ── run_s ── STOP ...   until the window's last step

As a clock that throttles, or an agent that freezes a process for a snapshot. Replay
sees it where a replayed pass takes longer than `run_s`; see `harness.coverage`.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from typing import Literal

from pydantic import Field

from injectors.errors import CannotInject
from injectors.fault import Healing, HostContext, RankParameters
from vocab.events import Change
from vocab.names import rank_name

_PROOF_S = 5.0
_LOOK_S = 0.001


class StragglerThrottle(RankParameters):
    """How long it is stopped and runs in turns."""

    kind: Literal["straggler.throttle"]
    stop_s: float = Field(
        0.02, ge=0.001, le=10, description="seconds that it is stopped in each turn"
    )
    run_s: float = Field(
        0.003, ge=0.001, le=10, description="seconds that it runs in each turn"
    )
    lifetime: Literal["persistent"] = "persistent"


class DutyCycle:
    """The harness's part: a thread that sends the signals."""

    label = "Straggler: throttled process"
    color = "#e6550d"
    duration_s = math.inf  # until the window's last step

    def __init__(self, parameters: StragglerThrottle, context: HostContext) -> None:
        self._rank = parameters.rank
        self._stop_s = parameters.stop_s
        self._run_s = parameters.run_s
        self._context = context
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._num_stops = 0

    def inject(self) -> tuple[Change, ...]:
        """Begin, and see the process stopped.

        Raises:
            CannotInject: it was never seen stopped.
        """
        before = self._context.process_state(self._rank)
        if self._thread is None:
            self._thread = threading.Thread(target=self._cycle, daemon=True)
            self._thread.start()
        deadline = time.monotonic() + _PROOF_S
        while (state := self._context.process_state(self._rank)) != "T":
            if state == "gone" or time.monotonic() > deadline:
                raise CannotInject(
                    f"{rank_name(self._rank)} did not stop: state {state}"
                )
            time.sleep(_LOOK_S)
        cycle = f"T (stopped) for {self._stop_s:g} s of every {self._turn_s():g} s"
        return (self._change(before, cycle),)

    def heal(self) -> Healing:
        """End the turns and let the process run."""
        before = f"{self._num_stops} stops of {self._stop_s:g} s"
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        deadline = time.monotonic() + _PROOF_S
        while (state := self._context.process_state(self._rank)) == "T":
            self._context.send_signal(self._rank, signal.SIGCONT)
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_S)
        return Healing(changes=(self._change(before, state),))

    def _turn_s(self) -> float:
        return self._stop_s + self._run_s

    def _change(self, before: str, after: str) -> Change:
        what = f"process state of {rank_name(self._rank)}"
        return Change(what=what, before=before, after=after)

    def _cycle(self) -> None:
        is_over = False
        while not is_over:
            self._context.send_signal(self._rank, signal.SIGSTOP)
            self._num_stops += 1
            is_over = self._over.wait(self._stop_s)
            self._context.send_signal(self._rank, signal.SIGCONT)
            is_over = is_over or self._over.wait(self._run_s)
