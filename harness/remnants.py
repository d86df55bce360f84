"""What is still there of a run on this machine: the proof of a clean state.

Called by the run page and the queue page after a run was cancelled or ended. Looks in
the same places as `leftovers`, which removes; this module removes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import processes, queue
from harness.leftovers import PREFIX, SHARED
from harness.store import RunDirectory
from injectors.cpu_cgroup import groups_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place that was looked at, and what of the run is still there."""

    name: str
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanState:
    """Every place that a run uses outside its results."""

    places: tuple[Place, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left anywhere."""
        return not any(place.left for place in self.places)

    @property
    def num_left(self) -> int:
        """How many things are left."""
        return sum(len(place.left) for place in self.places)


def inspect(run: RunDirectory) -> CleanState:
    """Look at every place, now."""
    run_id, root = run.run_id, run.path.parent.resolve()
    living = processes.marked(run_id)
    tickets = [run_id] if queue.is_live(root, run_id) else []
    return CleanState(
        places=(
            Place(name="processes",
                  left=tuple(f"{p.pid} ({p.name})" for p in living)),
            Place(name="place in the queue", left=tuple(tickets)),
            Place(name="shared memory files", left=tuple(
                str(path) for path in sorted(SHARED.glob(f"{PREFIX}{run_id}*")))),
            Place(name="CPU cgroups",
                  left=tuple(str(path) for path in groups_of(run_id))),
            Place(name="control files", left=tuple(
                path.name for path in sorted(run.control.glob("*")))),
        )
    )  # fmt: skip
