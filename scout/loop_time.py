"""Time that a rank is blocked in its own loop, not waiting for any peer (SCOUT sec. 6).

    update over ──► logging, a collective's entry, ... ──► next fetch
                     └ held while it waits for peers, evaluates or saves ┘

A rank that comes late to a collective slows all members alike, and only this tells who
it was. Work is not compared (ranks may have more of it by design), nor is waiting for
a CPU that others use: what is left is a rank that sleeps, is stopped or is throttled.
Made by `enable` where the loop shows its batches and every collective is seen; told of
waits by `collective_time`. It never guesses: after an asynchronous collective, whose
wait it cannot see, it gives nothing until the next check.
"""

from __future__ import annotations

import threading

from scout.clock import Stopwatch, Timing
from scout.phase_times import LOOP_BLOCKED, PhaseTimes

_NOTHING = Timing(wall_s=0.0, on_cpu_s=0.0, run_wait_s=0.0)


class LoopTime:
    """The window between an update and the next fetch, less what it is held for."""

    def __init__(self, times: PhaseTimes) -> None:
        self._times = times
        self._thread = threading.get_ident()  # whose time this is
        self._is_open = False
        self._num_holds = 0
        self._is_spoilt = False
        self._watch: Stopwatch | None = None  # runs while open and not held
        self._spent = _NOTHING

    def opens(self) -> None:
        """The update, and the check behind it, are over."""
        if not self._is_open and self._is_ours():
            self._is_open = True
            self._spent = _NOTHING
            self._run()

    def closes(self) -> None:
        """The next batch is fetched: what was spent counts for the next check."""
        if self._is_open and self._is_ours():
            self._pause()
            self._is_open = False
            if not self._is_spoilt:
                self._times.note(LOOP_BLOCKED, _off_cpu(self._spent))

    def hold(self) -> None:
        """From here on the rank waits for peers, evaluates or saves; may nest."""
        if self._is_ours():
            self._pause()
            self._num_holds += 1

    def release(self) -> None:
        """The end of one `hold`."""
        if self._is_ours():
            self._num_holds -= 1
            self._run()

    def spoil(self) -> None:
        """A collective was launched whose wait will not be seen."""
        if self._is_open and not self._num_holds:
            self._is_spoilt = True

    def checked(self) -> None:
        """A check took the times: what comes is measured anew."""
        self._is_spoilt = False

    def _run(self) -> None:
        if self._is_open and not self._num_holds:
            self._watch = Stopwatch()

    def _pause(self) -> None:
        if self._watch is not None:
            self._spent += self._watch.read()
            self._watch = None

    def _is_ours(self) -> bool:
        return threading.get_ident() == self._thread


def _off_cpu(spent: Timing) -> Timing:
    """Without the work: ranks may have more of it than others by design."""
    return Timing(
        wall_s=max(0.0, spent.wall_s - spent.on_cpu_s),
        on_cpu_s=0.0,
        run_wait_s=spent.run_wait_s,
        throttled_s=spent.throttled_s,
    )
