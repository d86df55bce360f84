"""Boundaries that a training loop shows by itself: batches, evaluation, checkpoints.

    for batch in handle.watch_data(loader): ...      data, around each fetch
    with handle.phase("checkpoint"): save(...)       around the I/O, not the wait for it
    with handle.phase("evaluation"): validate(...)

SCOUT sec. 6 "explicit entry and exit boundaries": made by `enable` for `Handle`. Hands
every value and exception on untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from scout.clock import Stopwatch
from scout.phase_times import CHECKPOINT_SAVE, DATA_FETCH, PhaseTimes

if TYPE_CHECKING:
    from scout.boundaries import Boundaries
    from scout.loop_time import LoopTime

T = TypeVar("T")

NAMED_PHASES = ("evaluation", "checkpoint")
"""Phases that `Phases.enter` knows; the others are seen by hooks."""


class Phases:
    """The phases of one rank's loop."""

    def __init__(self, boundaries: Boundaries, times: PhaseTimes) -> None:
        self._boundaries = boundaries
        self._times = times
        self.loop_time: LoopTime | None = None  # set where every wait is seen
        self.is_over = False  # SCOUT left: nothing is published any more

    def watch_data(self, batches: Iterable[T], name: str) -> WatchedData[T]:
        """`batches` with a boundary around each fetch."""
        self._boundaries.watches_data = True
        return WatchedData(batches, name, self)

    @contextmanager
    def enter(self, phase: str) -> Iterator[None]:
        """A boundary around an evaluation or a checkpoint's I/O.

        Raises:
            ValueError: no such phase.
        """
        if phase not in NAMED_PHASES:
            raise ValueError(
                f"phase is {phase!r}; allowed: {', '.join(NAMED_PHASES)} (the others "
                "are seen by hooks)"
            )
        if self.is_over:
            yield
            return
        token = self._boundaries.lane_begins(phase)
        if self.loop_time is not None:
            self.loop_time.hold()
        watch = Stopwatch()
        try:
            yield
        finally:
            if phase == "checkpoint":
                self._times.note(CHECKPOINT_SAVE, watch.read())
            if self.loop_time is not None:
                self.loop_time.release()
            self._boundaries.lane_ends(token)

    def fetch(self, source: Iterator[T], name: str) -> T:
        """The next of `source`, with its boundary and its time."""
        if self.is_over:
            return next(source)
        if self.loop_time is not None and not self._boundaries.is_in_lane:
            self.loop_time.closes()
        token = self._boundaries.fetch_begins(name)
        watch = Stopwatch()
        try:
            return next(source)
        finally:
            if not self._boundaries.is_in_lane:  # an evaluation's batches do not count
                self._times.note(DATA_FETCH, watch.read())
            self._boundaries.fetch_ends(token)


class WatchedData(Generic[T]):
    """An iterable like the one inside; every iterator of it shows its fetches."""

    def __init__(self, batches: Iterable[T], name: str, phases: Phases) -> None:
        self._batches = batches
        self._name = name
        self._phases = phases

    def __iter__(self) -> Iterator[T]:
        source = iter(self._batches)
        while True:
            try:
                batch = self._phases.fetch(source, self._name)
            except StopIteration:
                return
            yield batch

    def __len__(self) -> int:
        """Batches of one pass, where the iterable inside knows it.

        Raises:
            TypeError: it does not.
        """
        return len(self._batches)  # type: ignore[arg-type]
