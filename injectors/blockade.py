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
from typing import Literal, Protocol

from pydantic import Field

from injectors.fault import RankContext, RankParameters
from vocab.events import Change, FaultFailed, FaultHealed, FaultInjected
from vocab.names import rank_name

_PROOF_S = 5.0
_LOOK_S = 0.01


class BlockParameters(RankParameters):
    """How long the rank is blocked."""

    kind: str
    duration_s: float = Field(
        5.0, gt=0, le=3600, description="seconds until the rank is let go"
    )
    lifetime: Literal["one-shot"] = "one-shot"


class Shown(Protocol):
    """How a fault is called and coloured in pictures."""

    label: str
    color: str


class Witness:
    """Proves that a thread is blocked, and later that it is not."""

    def __init__(
        self, fault: Shown, parameters: BlockParameters, context: RankContext
    ) -> None:
        self._fault = fault
        self._parameters = parameters
        self._context = context
        self._name = rank_name(context.rank)

    def begin(
        self,
        step: int,
        where: str,
        *,
        state: Callable[[], str],
        let_go: Callable[[], None],
    ) -> None:
        """Watch from a thread beside the one that is, or soon will be, blocked.

        Args:
            state: what holds the thread, in words; empty while it is not held.
            let_go: ends the block.
        """
        threading.Thread(
            target=self._watch,
            args=(step, where, state, let_go),
            name="fault witness",
            daemon=True,
        ).start()

    def _watch(
        self,
        step: int,
        where: str,
        state: Callable[[], str],
        let_go: Callable[[], None],
    ) -> None:
        """Prove, wait for the duration, let go, prove again."""
        if not self._wait_for(lambda: bool(state())):
            reason = f"{self._name} did not block in {where}"
            self._context.emit(
                FaultFailed(
                    fault_id=self._context.fault_id,
                    kind=self._parameters.kind,
                    reason=reason,
                )
            )
            let_go()
            return
        what, held = f"training thread of {self._name} in {where}", state()
        self._context.emit(
            FaultInjected(
                fault_id=self._context.fault_id,
                kind=self._parameters.kind,
                label=self._fault.label,
                color=self._fault.color,
                targets=(self._name,),
                step=step,
                changes=(Change(what=what, before="running", after=held),),
            )
        )
        time.sleep(self._parameters.duration_s)
        let_go()
        self._wait_for(lambda: not state())
        self._context.emit(
            FaultHealed(
                fault_id=self._context.fault_id,
                kind=self._parameters.kind,
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
        self._witness.begin(step, where, state=self._state, let_go=self._gate.set)
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
