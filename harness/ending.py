"""When is a run over, and why? A pure rule: exits, events and `now` in, a reason out.

    all ranks ended with 0 -> finished          asked to end      -> cancelled
    a rank died -> detectors get a bounded time -> rank-died      too long -> timeout
    a hang was named, its fault is over, nobody goes on -> stalled
    runtime lost -> infrastructure

Called by `watch`. Ranks that are blocked after a peer's end are never waited for longer
than these bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from scout.config import ScoutConfig

SETTLE_S = 2.0
"""After a verdict on a death, for further verdicts, seconds."""

STALL_S = 3.0
"""Beyond SCOUT's threshold: without a step after a hang's verdict, seconds."""

NO_DETECTOR_S = 1.0
"""After a death that no detector can explain (off, or not yet running), seconds."""

FINISH_S = 30.0
"""Between the first and the last clean exit of a rank, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is over; `reason` is that of `store.Ended`."""

    reason: str
    detail: str


class EndingRule:
    """Collects what happened; `on_tick` says whether the run is over."""

    def __init__(
        self, *, num_ranks: int, timeout_s: float, scout: ScoutConfig | None, now: float
    ) -> None:
        self._num_ranks = num_ranks
        self._timeout_s = timeout_s
        self._scout = scout
        self._started_at = now
        self._num_exits = 0
        self._first_exit_at: float | None = None
        self._deaths: list[str] = []
        self._death_at: float | None = None
        self._verdict_at: float | None = None
        self._hang_at: float | None = None  # its verdict, or what happened since
        self._num_active = 0  # faults
        self._is_watched = False
        self._lost: str | None = None

    def on_exit(self, name: str, how: str, *, is_clean: bool, now: float) -> None:
        """A rank is gone; `how` says how, such as `signal 9`."""
        self._num_exits += 1
        if self._first_exit_at is None:
            self._first_exit_at = now
        if not is_clean:
            self._deaths.append(f"{name} ended with {how}")
            if self._death_at is None:
                self._death_at = now

    def on_lost(self, reason: str) -> None:
        """The runtime broke."""
        self._lost = self._lost or reason

    def on_detector(self) -> None:
        """A detector said that it works."""
        self._is_watched = True

    def on_verdict(self, now: float, *, is_hang: bool) -> None:
        """A detector named an incident."""
        if self._death_at is not None:
            self._verdict_at = now
        if is_hang:
            self._hang_at = now

    def on_progress(self, now: float) -> None:
        """A rank ended a step."""
        if self._hang_at is not None:
            self._hang_at = now

    def on_fault(self, change: int, now: float) -> None:
        """A fault struck (1) or is over (-1)."""
        self._num_active += change
        self.on_progress(now)  # what it held may need a moment to go on

    def on_tick(
        self, now: float, *, is_cancelled: bool, num_observers: int
    ) -> Ending | None:
        """The end, if this is it."""
        if is_cancelled:
            return Ending(reason="cancelled", detail="asked to end")
        if self._lost is not None:
            return Ending(reason="infrastructure", detail=self._lost)
        if now - self._started_at > self._timeout_s:
            return Ending(
                reason="timeout", detail=f"not over after {self._timeout_s:g} s"
            )
        if self._death_at is not None:
            return self._after_death(now, num_observers)
        if self._num_exits == self._num_ranks:
            return Ending(reason="finished", detail="")
        if self._is_stalled(now):
            return Ending(
                reason="stalled",
                detail="no rank goes on after a hang, and no fault holds it any more",
            )
        if self._first_exit_at is not None and now - self._first_exit_at > FINISH_S:
            left = self._num_ranks - self._num_exits
            return Ending(
                reason="infrastructure",
                detail=f"{left} of {self._num_ranks} ranks still run {FINISH_S:g} s "
                "after the first had finished",
            )
        return None

    def _is_stalled(self, now: float) -> bool:
        if self._hang_at is None or self._scout is None or self._num_active > 0:
            return False
        return now - self._hang_at >= self._scout.silence_s + STALL_S

    def _after_death(self, now: float, num_observers: int) -> Ending | None:
        assert self._death_at is not None
        ending = Ending(reason="rank-died", detail="; ".join(self._deaths))
        if self._verdict_at is not None:
            return ending if now - self._verdict_at >= SETTLE_S else None
        if self._num_exits == self._num_ranks and num_observers == 0:
            return ending  # nobody is left who could report
        return ending if now - self._death_at >= self._grace_s() else None

    def _grace_s(self) -> float:
        if self._scout is None or not self._is_watched:
            return NO_DETECTOR_S
        silences = (self._scout.silence_s, *self._scout.silence_by_phase_s.values())
        return max(silences) + 3 * self._scout.heartbeat_s + SETTLE_S
