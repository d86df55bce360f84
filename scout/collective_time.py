"""Time that a rank waits inside its collectives (SCOUT sec. 6, 11).

Told of waits by `recording`, in front of `loop_time`, which it tells in turn. Nobody is
compared by it: who comes last waits least. What even the last waits is no peer's
lateness, and `group_slowdown` holds that against earlier checks. An asynchronous
collective (DDP's buckets) is waited for elsewhere and does not count.
"""

from __future__ import annotations

import threading

from scout.clock import Stopwatch
from scout.loop_time import LoopTime
from scout.phase_times import COLLECTIVE_INSIDE, PhaseTimes


class CollectiveTime:
    """Adds up the waits of the thread that made it."""

    def __init__(self, times: PhaseTimes, loop_time: LoopTime) -> None:
        self._times = times
        self._loop_time = loop_time
        self._thread = threading.get_ident()
        self._watch: Stopwatch | None = None

    def hold(self) -> None:
        """A blocking collective begins to wait."""
        self._loop_time.hold()
        if threading.get_ident() == self._thread:
            self._watch = Stopwatch()

    def release(self) -> None:
        """The wait is over."""
        if self._watch is not None and threading.get_ident() == self._thread:
            self._times.note(COLLECTIVE_INSIDE, self._watch.read())
            self._watch = None
        self._loop_time.release()

    def spoil(self) -> None:
        """A collective was launched whose wait will not be seen."""
        self._loop_time.spoil()
