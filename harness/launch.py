"""Make a run and start its own process; then watch it from outside, by its files.

    CLI, web page --launch--> run directory + detached `python -m harness.run`
                  <--follow-- events of the run directory
                  --cancel--> control/cancel

Neither the terminal nor the web server is needed for a run to go on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from harness import queue
from harness.errors import InfrastructureError
from harness.events import Batch
from harness.processes import MARK, ROOT_MARK
from harness.provenance import provenance
from harness.scenario import Scenario
from harness.script_file import located
from harness.store import Meta, RunDirectory, Store, new_run_id

CANCEL = "cancel"
_SOURCE = Path(__file__).resolve().parent.parent


def launch(
    scenario: Scenario, *, runs_root: Path, name: str, command: str | None = None
) -> RunDirectory:
    """Create the run directory and its process; returns at once.

    Args:
        name: of the scenario; becomes part of the run's id.
        command: repeats this run; None: running its scenario file again.

    Raises:
        ScenarioError: its script is not there, or is none.
        InfrastructureError: the folder or the process cannot be made.
    """
    scenario = located(scenario)
    root = runs_root.resolve()
    run_id = new_run_id(name)
    made_with = provenance()
    repeat = command or f"faultyard run {root / run_id / 'scenario.yaml'}"
    meta = Meta(
        run_id=run_id,
        scenario_name=name,
        title=scenario.title,
        seed=scenario.seed,
        num_ranks=scenario.num_ranks,
        num_steps=scenario.steps,
        created_wall_ns=time.time_ns(),
        command=repeat,
        commit=made_with.commit,
        dirty=made_with.dirty,
        versions=made_with.versions,
        host=made_with.host,
        workload="train" if scenario.workload.script is None else "script",
    )
    try:
        # The ticket comes first: a run that can be seen is never taken for dead.
        ticket = queue.join(root, run_id)
    except OSError as error:
        raise InfrastructureError(f"runs folder {root}: {error}") from None
    try:
        run = Store(root).create(scenario, meta)
        _spawn(run, ticket)
    except OSError as error:
        ticket.leave()
        raise InfrastructureError(f"cannot start run {run_id}: {error}") from None
    ticket.hand_over()
    return run


def cancel(run: RunDirectory) -> bool:
    """Ask a run to end now; False where its processes are gone already."""
    if not is_live(run) or run.ended() is not None:
        return False
    (run.control / CANCEL).touch()
    return True


def is_live(run: RunDirectory) -> bool:
    """Whether the run's own process lives (waiting, running or checking)."""
    return queue.is_live(run.path.parent, run.run_id)


def follow(
    run: RunDirectory, *, cursor: str = "", poll_s: float = 0.1
) -> Iterator[Batch]:
    """Batches of events by time, as they come, until the run's process is gone.

    A batch may be empty; it gives the caller a moment to redraw or to give up.
    """
    reader = run.reader()
    while True:
        is_over = not is_live(run)  # asked before the last read: nothing is missed
        batch = reader.read(cursor)
        cursor = batch.cursor
        yield batch
        if is_over:
            return
        time.sleep(poll_s)


def _spawn(run: RunDirectory, ticket: queue.Ticket) -> None:
    environment = {
        **os.environ, MARK: run.run_id, ROOT_MARK: str(run.path.parent),
    }  # fmt: skip
    with (run.logs / "harness.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.run", str(run.path), str(ticket.fd)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            cwd=_SOURCE, start_new_session=True, pass_fds=(ticket.fd,),
        )  # fmt: skip
    # Somebody has to collect it when it ends, or a long-lived server gathers zombies.
    threading.Thread(target=process.wait, name=run.run_id, daemon=True).start()
