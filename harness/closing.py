"""Closes killed runs: writes the phases that their own process could not (DESIGN 4).

    no results, process gone ─► ended.json "killed": what died, and when ─► results.json

A run that was killed while it ran becomes an infrastructure error; one whose processes
had ended and that only missed its check is checked now, on the same events. Called by
every run before it starts, by `clean` and by `reindex`. Never touches a living run, an
analysis, or a run that has results.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Sequence
from pathlib import Path

from harness import queue
from harness.checks import score, unscored
from harness.clock import MergedClock
from harness.results import Results
from harness.store import RUN, Ended, Meta, RunDirectory, Store
from vocab.events import (
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    Stamped,
    StepEnded,
)

KILLED = "killed"


def close_killed(root: Path, *, spare: tuple[str, ...] = ()) -> list[RunDirectory]:
    """Close every killed run of a folder; returns those that it closed.

    What cannot be written stays as it is: a full disk must not stop the next run.
    """
    closed = []
    for run in Store(root).runs():
        if run.run_id in spare or (run.path / "results.json").exists():
            continue
        with contextlib.suppress(OSError):
            if close(run):
                closed.append(run)
    return closed


def close(run: RunDirectory) -> bool:
    """Write what is missing of one killed run; False: there is nothing to close.

    Raises:
        OSError: the folder cannot be read or written to.
    """
    meta = run.meta()
    if meta is None or meta.kind != RUN or run.results() is not None:
        return False
    if queue.is_live(run.path.parent, run.run_id):
        return False
    if run.ended() is None:
        run.write_ended(how_it_was_killed(meta, run.reader().read().events))
    run.write_results(judge(run))
    return True


def judge(run: RunDirectory) -> Results:
    """Score a run on its stored events; a check that fails itself claims nothing."""
    scenario = None
    try:
        scenario = run.scenario()
        return score(scenario, run.reader().read().events, run.ended())
    except Exception as error:  # a crashed check is unknown, never a pass
        traceback.print_exc()
        why = f"the check itself failed: {type(error).__name__}: {error}"
        return unscored(scenario, run.ended(), why)


def how_it_was_killed(meta: Meta, events: Sequence[Stamped]) -> Ended:
    """Phase 2 of a run that could not write it, from the events that it left. Pure."""
    clock = MergedClock()
    for stamped in events:
        clock.note(stamped)
    phases = [e.event.phase for e in events if isinstance(e.event, PhaseChanged)]
    steps = [e for e in events if isinstance(e.event, StepEnded)]
    at_s = [(clock.ns(item) - meta.created_wall_ns) / 1e9 for item in events]
    first = [(clock.ns(item) - meta.created_wall_ns) / 1e9 for item in steps]
    phase = phases[-1] if phases else "queued"
    with_it = _still_there(events)
    detail = f"the harness, while the run was {phase}"
    if with_it:
        detail += f"; {', '.join(with_it)} ended with it"
    if steps:
        last = max(e.event.step for e in steps if isinstance(e.event, StepEnded))
        detail += f"; last step {last}"
    return Ended(
        reason=KILLED,
        detail=detail,
        wall_s=max(at_s, default=None),
        first_step_s=min(first, default=None),
    )


def _still_there(events: Sequence[Stamped]) -> list[str]:
    """Processes that were started and of which no end was written."""
    there: dict[str, None] = {}
    for stamped in events:
        match stamped.event:
            case ProcessStarted(name=name):
                there[name] = None
            case ProcessExited(name=name):
                there.pop(name, None)
    return list(there)
