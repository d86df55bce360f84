"""`hang.equal_progress`: one rank's transport stops while every rank goes on to wait.

gloo moves bytes in threads of its own. They are paused, not the training thread: it
enters and publishes its next collective like all others, and then nothing arrives. All
ranks stand at the same place, and nobody can be named from their progress.

    training thread: arms at the step's start -> goes on into its collective
    gloo's threads:  paused by `transport` ... let go by the witness
"""

from __future__ import annotations

from typing import Literal

from injectors.blockade import BlockParameters, Witness
from injectors.fault import Healing, RankContext
from injectors.transport import Transport
from vocab.events import Change


class HangEqualProgress(BlockParameters):
    """The step in which the transport stops, and for how long."""

    kind: Literal["hang.equal_progress"]


class PausedTransport:
    """The fault at work in its rank."""

    label = "Hang: stalled transport"
    color = "#637939"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: HangEqualProgress, context: RankContext) -> None:
        self._witness = Witness(self, parameters, context)
        self._transport = Transport()
        self._is_let_go = False

    def inject(self, step: int) -> tuple[Change, ...]:
        """Pause gloo's threads; the witness proves it and lets them go.

        Raises:
            CannotInject: this process has no such thread.
        """
        if self._transport.is_paused:
            return ()
        self._transport.pause()
        self._witness.begin(
            step,
            f"its next collective of step {step}",
            state=self._state,
            let_go=self._let_go,
        )
        return ()

    def heal(self, step: int) -> Healing:
        """Let go what is still paused: the step is over or the run ends."""
        self._let_go()
        return Healing(changes=())

    def _let_go(self) -> None:
        # Once, and also where the kernel hides in what its threads wait.
        if self._transport.is_paused and not self._is_let_go:
            self._is_let_go = True
            self._transport.go_on()

    def _state(self) -> str:
        count = self._transport.num_paused()
        return f"{count} transport threads paused" if count else ""
