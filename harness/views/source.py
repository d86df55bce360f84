"""Read one run's files into facts, each event once (the only I/O of the views).

Called by the web pages (which keep a `RunLog` per run, so that a refresh reads only
what is new), by the report and by tests. Reads everything, ground truth included:
it serves people, never detectors.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from harness.errors import ScenarioError
from harness.launch import is_live
from harness.results import Results
from harness.scenario import Scenario
from harness.store import ANALYSIS, Ended, Meta, RunDirectory
from vocab.events import Event, Stamped, UnreadableLine


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedEvent:
    """An event with its wall-clock time, by which all files merge."""

    at_ns: int
    stamped: Stamped

    @property
    def event(self) -> Event:
        """The event itself."""
        return self.stamped.event

    @property
    def source(self) -> str:
        """Who wrote it."""
        return self.stamped.source


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Everything that is known of a run at `now_ns`; any part may be missing."""

    run_id: str
    meta: Meta | None
    scenario: Scenario | None
    scenario_problem: str  # why there is no scenario; "" where there is one
    ended: Ended | None
    results: Results | None
    is_alive: bool  # the run's own process: waiting, running or checking
    now_ns: int
    events: tuple[TimedEvent, ...]  # by time
    unreadable: tuple[UnreadableLine, ...]
    cursor: str  # of the event stream, behind `events`

    @property
    def is_analysis(self) -> bool:
        """Whether evidence was brought along, instead of a job launched."""
        return self.meta is not None and self.meta.kind == ANALYSIS

    @property
    def start_ns(self) -> int:
        """Wall time that views count seconds from: the first sign of the run."""
        if self.events:
            return self.events[0].at_ns
        return self.meta.created_wall_ns if self.meta else self.now_ns

    def at_s(self, at_ns: int) -> float:
        """Seconds from the run's start to a wall time."""
        return (at_ns - self.start_ns) / 1e9


class RunLog:
    """What was read of one run so far; safe to use from several threads."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._reader = run.reader()
        self._cursor = ""
        self._events: list[TimedEvent] = []
        self._unreadable: list[UnreadableLine] = []
        self._scenario: Scenario | None = None
        self._lock = threading.Lock()

    def read(self) -> RunFacts:
        """All facts, those of earlier reads included."""
        with self._lock:
            # Asked first: a process that ends between the two reads has by then
            # written its results, so a finished run is never shown as killed.
            is_alive = is_live(self._run)
            self._read_events()
            meta = self._run.meta()
            is_analysis = meta is not None and meta.kind == ANALYSIS
            scenario, problem = (None, "") if is_analysis else self._read_scenario()
            return RunFacts(
                run_id=self._run.run_id,
                meta=meta,
                scenario=scenario,
                scenario_problem=problem,
                ended=self._run.ended(),
                results=self._run.results(),
                is_alive=is_alive,
                now_ns=time.time_ns(),
                events=tuple(self._events),
                unreadable=tuple(self._unreadable),
                cursor=self._cursor,
            )

    def _read_events(self) -> None:
        batch = self._reader.read(self._cursor)
        self._cursor = batch.cursor
        for stamped in batch.events:
            if isinstance(stamped.event, UnreadableLine):
                self._unreadable.append(stamped.event)
            else:
                at_ns = self._reader.wall_ns(stamped)
                self._events.append(TimedEvent(at_ns=at_ns, stamped=stamped))
        if batch.events:  # a file may be read later than one that is ahead of it
            self._events.sort(key=lambda e: (e.at_ns, e.source, e.stamped.seq))

    def _read_scenario(self) -> tuple[Scenario | None, str]:
        if self._scenario is None:
            try:
                self._scenario = self._run.scenario()
            except (ScenarioError, OSError, UnicodeDecodeError) as error:
                return None, str(error)
        return self._scenario, ""
