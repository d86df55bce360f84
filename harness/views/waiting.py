"""Runs that wait or go on, in the order of their turn; and what ended ones left.

Reads the queue and the runs' files. Called by the dashboard's queue page. Cancelling is
`harness.launch`'s; this only shows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness import queue
from harness.errors import UnknownRun
from harness.launch import CANCEL
from harness.remnants import CleanState, inspect
from harness.store import RunDirectory, Store
from harness.views import wording
from harness.views.listing import RunRow, row

NUM_ENDED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """One living run; `position` 1 has the slot."""

    position: int
    run_id: str
    title: str
    state: str  # running, waiting, ending
    age_text: str  # since it was launched


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """One run that is over, and the proof that nothing of it is left."""

    run: RunRow
    clean: CleanState
    is_clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """The queue page."""

    waiting: tuple[WaitingRun, ...]
    ended: tuple[EndedRun, ...]


def build(store: Store) -> QueueView:
    """The queue as it is now, and the runs that ended last."""
    living = queue.live_run_ids(store.root.resolve())
    over = [run for run in store.runs() if run.run_id not in living][:NUM_ENDED]
    return QueueView(
        waiting=tuple(
            _waiting(run, position)
            for position, run in enumerate(_known(store, living), start=1)
        ),
        ended=tuple(_ended(run) for run in over),
    )


def _known(store: Store, run_ids: list[str]) -> list[RunDirectory]:
    """Their directories; a ticket is taken a moment before its folder is there."""
    found = []
    for run_id in run_ids:
        try:
            found.append(store.open(run_id))
        except UnknownRun:
            continue
    return found


def _waiting(run: RunDirectory, position: int) -> WaitingRun:
    meta = run.meta()
    age_s = None
    if meta is not None:
        age_s = max(0.0, float(round((time.time_ns() - meta.created_wall_ns) / 1e9)))
    is_ending = (run.control / CANCEL).exists() or run.ended() is not None
    state = "ending" if is_ending else "running" if position == 1 else "waiting"
    return WaitingRun(
        position=position,
        run_id=run.run_id,
        title=meta.title if meta else run.run_id,
        state=state,
        age_text=wording.seconds(age_s),
    )


def _ended(run: RunDirectory) -> EndedRun:
    state = inspect(run)
    return EndedRun(run=row(run), clean=state, is_clean=state.is_clean)
