"""What killed runs left on this machine: find it and remove it, nothing else.

    processes   of a run of this folder that has no living harness
    shared files /dev/shm/faultyard-<run id>-*
    CPU cgroups faultyard-<run id>-*      that a fault of such a run made
    containers, networks                  with our labels, of such a run
    tickets, drafts, control files      of such runs

Called by every run before it starts and by `faultyard clean`. Results, events and logs
of ended runs are the user's and stay; runs of another folder are not ours to judge.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import processes, queue
from harness.errors import InfrastructureError
from harness.store import RunDirectory, Store, is_run_id
from injectors.cpu_cgroup import groups_of

SHARED = Path("/dev/shm")
PREFIX = "faultyard-"
HOSTS = "-hosts"  # ends the name of the folder of a run's container sockets
_DRAFT = ".draft-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """One thing that was removed: what it was, and of which run."""

    what: str
    run_id: str


def sweep(
    root: Path,
    *,
    spare: tuple[str, ...] = (),
    also_live: bool = False,
    asks_engine: bool = False,
) -> list[Removed]:
    """Remove what runs of `root` left behind.

    Args:
        spare: ids of runs that are not touched whatever their state.
        also_live: end living runs too.
        asks_engine: look for containers also where no trace points to any.
    """
    root = root.resolve()
    live = () if also_live else tuple(queue.live_run_ids(root))
    keep = frozenset((*live, *spare))
    removed = list(_remove_containers(root, keep, asks_engine=asks_engine))
    removed += _end_processes(root, keep)
    removed += [
        Removed(what=f"queue ticket {path.name}", run_id=path.name.partition("-")[2])
        for path in queue.drop_dead_tickets(root)
    ]
    removed += _remove_drafts(root, keep)
    for run in Store(root).runs():
        # Asked again: it may have been launched since.
        is_live = not also_live and queue.is_live(root, run.run_id)
        if run.run_id not in keep and not is_live:
            removed += tidy(run)
    return removed


def tidy(run: RunDirectory) -> list[Removed]:
    """Remove the shared and control files of one run whose processes are gone."""
    removed = []
    for path in sorted(SHARED.glob(f"{PREFIX}{run.run_id}*")):
        _remove(path)
        removed.append(Removed(what=f"shared file {path}", run_id=run.run_id))
    for path in groups_of(run.run_id):
        try:
            path.rmdir()
        except OSError:  # a process is still in it: next time
            continue
        removed.append(Removed(what=f"CPU cgroup {path}", run_id=run.run_id))
    for path in sorted(run.control.glob("*")):
        _remove(path)
        removed.append(Removed(what=f"control file {path.name}", run_id=run.run_id))
    return removed


def _remove_containers(
    root: Path, keep: frozenset[str], *, asks_engine: bool
) -> Iterator[Removed]:
    """By our labels. A daemon that is away keeps nothing else from being removed."""
    # Asking costs half a second: their sockets tell whether there may be any.
    traces = [path.name.removeprefix(PREFIX).removesuffix(HOSTS)
              for path in SHARED.glob(f"{PREFIX}*{HOSTS}")]  # fmt: skip
    if not asks_engine and not any((root / name).is_dir() for name in traces):
        return
    from harness import images
    from harness.runtime import container_hosts

    try:
        made = images.client()
    except InfrastructureError:
        return
    with contextlib.closing(made):
        for run_id in sorted(container_hosts.left_runs(made, root) - keep):
            if not container_hosts.remove(made, run_id):
                yield Removed(what="containers and networks", run_id=run_id)


def _end_processes(root: Path, keep: frozenset[str]) -> Iterator[Removed]:
    stale = {
        process.run_id
        for process in processes.marked()
        if process.runs_root == str(root) and process.run_id not in keep
    }
    for run_id in sorted(stale):
        for process in processes.end(run_id):
            yield Removed(what=f"process {process.pid} ({process.name})", run_id=run_id)


def _remove_drafts(root: Path, keep: frozenset[str]) -> Iterator[Removed]:
    for path in sorted(root.glob(f"{_DRAFT}*")):
        run_id = path.name.removeprefix(_DRAFT)
        if is_run_id(run_id) and run_id not in keep:
            _remove(path)
            yield Removed(what=f"unfinished run folder {path.name}", run_id=run_id)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
