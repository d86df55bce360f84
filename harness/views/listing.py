"""Runs as rows of a list: from the phase files alone, without any event.

Called by the run list and the scenario page. Says who was found, not who was guilty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.launch import is_live
from harness.results import Outcome, Results
from harness.store import ANALYSIS, RunDirectory
from harness.views import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in a list."""

    run_id: str
    scenario_name: str
    title: str
    seed: int | None
    state: str  # running, ended, killed
    outcome: Outcome | None  # None: not judged
    outcome_text: str
    found: str  # who was blamed, for what
    created: str  # ISO 8601, UTC
    wall_text: str


def rows(runs: Iterable[RunDirectory]) -> tuple[RunRow, ...]:
    """A row per run, in the given order."""
    return tuple(row(run) for run in runs)


def row(run: RunDirectory) -> RunRow:
    """One run's row; what cannot be read is said to be missing."""
    meta, ended, results = run.meta(), run.ended(), run.results()
    state = "running" if is_live(run) else "killed"
    found = _found(results) if results else ""
    if meta is not None and meta.kind == ANALYSIS and ended is not None:
        found = ended.detail
    if results is not None or found:
        state = "ended"
    not_judged = "not judged yet" if state == "running" else "not judged"
    return RunRow(
        run_id=run.run_id,
        scenario_name=meta.scenario_name if meta else "",
        title=meta.title if meta else run.run_id,
        seed=meta.seed if meta else None,
        state=state,
        outcome=results.outcome if results else None,
        outcome_text=results.outcome.value if results else not_judged,
        found=found,
        created=wording.utc(meta.created_wall_ns) if meta else "",
        wall_text=wording.seconds(ended.wall_s if ended else None),
    )


def _found(results: Results) -> str:
    blamed = [
        wording.incident(incident.kind, incident.state, incident.targets)
        for incident in results.incidents
        if incident.found
    ]
    blamed += [
        wording.incident(extra.kind, extra.state, extra.blamed)
        for extra in results.extras
    ]
    return ", ".join(blamed) if blamed else wording.NOBODY
