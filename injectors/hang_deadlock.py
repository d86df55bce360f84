"""`hang.deadlock`: two threads of a rank take two locks in opposite order.

    training thread: holds A, wants B          second thread: holds B, wants A

The rank never enters its next collective. After the duration the second thread gives up
its lock, as a lock with a time-out would.
"""

from __future__ import annotations

import threading
from typing import Literal

from injectors.blockade import BlockParameters, Witness, is_asleep
from injectors.fault import Healing, RankContext
from vocab.events import Change

_WANT_S = 0.02


class HangDeadlock(BlockParameters):
    """The step at whose start the two meet, and for how long."""

    kind: Literal["hang.deadlock"]


class Deadlock:
    """The fault at work in its rank."""

    label = "Hang: deadlock"
    color = "#d62728"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangDeadlock, context: RankContext) -> None:
        self._witness = Witness(self, parameters, context)
        self._lock_a = threading.Lock()
        self._lock_b = threading.Lock()
        self._is_taken = threading.Event()
        self._gives_up = threading.Event()
        self._thread_id: int | None = None

    def inject(self, step: int) -> tuple[Change, ...]:
        """Meet the second thread; the witness proves that neither goes on."""
        if self._gives_up.is_set():
            return ()
        with self._lock_a:
            threading.Thread(target=self._second, daemon=True).start()
            self._is_taken.wait()
            self._thread_id = threading.get_native_id()
            self._witness.begin(
                step,
                f"the start of step {step}",
                state=self._state,
                let_go=self._gives_up.set,
            )
            with self._lock_b:
                self._thread_id = None
        return ()

    def heal(self, step: int) -> Healing:
        """Nothing is left: the training thread came out of it."""
        return Healing(changes=())

    def _second(self) -> None:
        with self._lock_b:
            self._is_taken.set()
            while not self._gives_up.is_set():
                if self._lock_a.acquire(timeout=_WANT_S):  # never, while A is held
                    self._lock_a.release()
                    return

    def _state(self) -> str:
        inside = self._thread_id
        if inside is None or not is_asleep(inside):
            return ""
        held = self._lock_a.locked() and self._lock_b.locked()
        return "holds lock A, waits for B, whose holder waits for A" if held else ""
