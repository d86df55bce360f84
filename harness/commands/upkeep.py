"""`faultyard clean`, `cancel` and `reindex`: keep the machine and the folder tidy."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, RunId, RunsDir


def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="End runs that are going on, too.")
    ] = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
) -> int:
    """Remove what killed runs left: processes, containers, shared files, drafts.

    Runs that go on, and the results of all runs, stay. Killed runs get their results:
    an infrastructure error that says what was killed.
    """
    from harness.closing import close_killed
    from harness.commands.terminal import plain
    from harness.leftovers import sweep
    from harness.queue import live_run_ids

    removed = sweep(runs_dir, also_live=everything, asks_engine=True)
    for item in removed:
        plain(f"removed {item.what} of {item.run_id}")
    closed = close_killed(runs_dir)
    for run in closed:
        plain(f"closed  {run.run_id}: it was killed")
    kept = live_run_ids(runs_dir.resolve())
    for run_id in kept:
        plain(f"kept    {run_id}: it is going on (--all ends it)")
    if not removed and not closed:
        plain("nothing to remove")
    return 0


def cancel(run: RunId, runs_dir: RunsDir = DEFAULT_RUNS) -> int:
    """Ask a run to end; its faults are healed and its results say `cancelled`."""
    from harness.commands.choose import run_of
    from harness.commands.terminal import plain
    from harness.errors import UsageError
    from harness.launch import cancel as ask_to_end

    directory = run_of(run, runs_dir)
    if not ask_to_end(directory):
        raise UsageError(f"run {directory.run_id} is not going on")
    plain(f"asked {directory.run_id} to end")
    return 0


def reindex(runs_dir: RunsDir = DEFAULT_RUNS) -> int:
    """Make the index of runs again from their folders; killed runs get results."""
    from harness.closing import close_killed
    from harness.commands.terminal import plain
    from harness.index import Index

    for run in close_killed(runs_dir):
        plain(f"closed {run.run_id}: it was killed")
    number = Index.of(runs_dir).rebuild()
    plain(f"{number} run{'' if number == 1 else 's'} in the index")
    return 0
