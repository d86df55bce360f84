"""Block a rank's training thread at a place, prove it from beside, and let it go.

    training thread: hold() ......... waits .......................... goes on
    witness thread:  sees it waiting -> FaultInjected -> duration -> FaultHealed

Shared by the faults that block inside a rank. The witness reads the thread's state from
/proc: the proof is that the kernel says it sleeps while it is inside.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from injectors.fault import RankContext
from vocab.events import Change, FaultFailed, FaultHealed, FaultInjected
from vocab.names import rank_name

_PROOF_S = 5.0
_LOOK_S = 0.01


class Witness:
    """Proves that a thread is blocked, and later that it is not."""

    def __init__(
        self,
        context: RankContext,
        *,
        kind: str,
        label: str,
        color: str,
        duration_s: float,
    ) -> None:
        self._context = context
        self._kind = kind
        self._label = label
        self._color = color
        self._duration_s = duration_s
        self._name = rank_name(context.rank)

    def watch(
        self,
        step: int,
        where: str,
        *,
        state: Callable[[], str],
        let_go: Callable[[], None],
    ) -> None:
        """Prove, wait for the duration, let go, prove again; in the witness's thread.

        Args:
            state: what holds the thread, in words; empty while it is not held.
            let_go: ends the block.
        """
        if not self._wait_for(lambda: bool(state())):
            reason = f"{self._name} did not block in {where}"
            self._context.emit(
                FaultFailed(
                    fault_id=self._context.fault_id, kind=self._kind, reason=reason
                )
            )
            let_go()
            return
        what, held = f"training thread of {self._name} in {where}", state()
        self._context.emit(
            FaultInjected(
                fault_id=self._context.fault_id,
                kind=self._kind,
                label=self._label,
                color=self._color,
                targets=(self._name,),
                step=step,
                changes=(Change(what=what, before="running", after=held),),
            )
        )
        time.sleep(self._duration_s)
        let_go()
        self._wait_for(lambda: not state())
        self._context.emit(
            FaultHealed(
                fault_id=self._context.fault_id,
                kind=self._kind,
                targets=(self._name,),
                step=step,
                changes=(Change(what=what, before=held, after=state() or "running"),),
                num_strikes=1,
            )
        )

    def _wait_for(self, is_so: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + _PROOF_S
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True


class Blockade:
    """Blocks the calling thread once, until the witness lets it go."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._gate = threading.Event()
        self._thread_id: int | None = None  # of the thread inside

    def hold(self, step: int, where: str) -> None:
        """Block here."""
        self._thread_id = threading.get_native_id()
        threading.Thread(
            target=self._witness.watch,
            args=(step, where),
            kwargs={"state": self._state, "let_go": self._gate.set},
            name="fault witness",
            daemon=True,
        ).start()
        self._gate.wait()
        self._thread_id = None

    def _state(self) -> str:
        inside = self._thread_id
        return "blocked (state S)" if inside and is_asleep(inside) else ""


def is_asleep(thread_id: int) -> bool:
    """Whether a thread of this process sleeps, as the kernel sees it."""
    try:
        stat = Path(f"/proc/self/task/{thread_id}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] == "S"
