"""Views of runs, kept warm: a refresh reads only what is new.

Used by all routes that show a run. Keeps the logs of the runs that were looked at last;
a restarted server simply reads them again from the start.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from harness.store import Store
from harness.views.liveness import Liveness
from harness.views.run import RunView, build, liveness_of
from harness.views.source import RunFacts, RunLog

MAX_LOGS = 24
# One stream message makes the browser ask for several parts at once: one view for all.
# Only ages (of heartbeats, of silence) can be older than the files by this.
FRESH_S = 0.5


@dataclass(slots=True, kw_only=True)
class _Entry:
    log: RunLog
    view: RunView | None
    built_s: float
    lock: threading.Lock


def _is_current(entry: _Entry, facts: RunFacts) -> bool:
    view = entry.view
    return (
        view is not None
        and view.cursor == facts.cursor
        and view.liveness.state == liveness_of(facts).state
        and time.monotonic() - entry.built_s < FRESH_S
    )


class RunViews:
    """Views by run id; safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def facts(self, run_id: str) -> RunFacts:
        """What is known of the run now, without any view of it.

        Raises:
            UnknownRun: no such run.
        """
        return self._entry(run_id).log.read()

    def view(self, run_id: str) -> RunView:
        """The run as it is now.

        Raises:
            UnknownRun: no such run.
        """
        entry = self._entry(run_id)
        with entry.lock:
            facts = entry.log.read()
            if entry.view is None or not _is_current(entry, facts):
                entry.view = build(facts)
                entry.built_s = time.monotonic()
            return entry.view

    def liveness(self, run_id: str) -> Liveness:
        """Whether the run still goes on, without building its view.

        Raises:
            UnknownRun: no such run.
        """
        return liveness_of(self._entry(run_id).log.read())

    def _entry(self, run_id: str) -> _Entry:
        run = self.store.open(run_id)
        with self._lock:
            entry = self._entries.get(run_id)
            if entry is None:
                entry = _Entry(
                    log=RunLog(run), view=None, built_s=0.0, lock=threading.Lock()
                )
                self._entries[run_id] = entry
            self._entries.move_to_end(run_id)
            while len(self._entries) > MAX_LOGS:
                self._entries.popitem(last=False)
            return entry
