"""Progress rings side by side: who stands where, and where they part. Pure (SCOUT 7).

Called by the hang page and the rank page. Rows are the coordinates (step, op) that all
peers pass alike; the first row on which not all tell the same is marked. It shows what
the observers compared and decides nothing: who is blamed stands in the verdict.

               rank0 rank1   rank2
    6 · 3      ✓ …   ✓ …     ✓ …
    6 · 4  ►   ✓ …   ▸ …     ✓ …       the first divergence
    6 · 5      ▸ …           ▸ …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.views import wording
from harness.views.folding import MAX_ROWS
from harness.views.source import RunFacts
from vocab.events import ProgressCompared, ProgressSnapshot, RingEntry
from vocab.names import rank_name

Place = tuple[int, int]
NUM_BEFORE = 6
"""Rows shown before the first divergence: where everybody came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingCell:
    """One entry of one rank's ring."""

    text: str
    detail: str  # fingerprint of a collective, or ""
    is_left: bool  # it was left again; False: the rank is inside


@dataclass(frozen=True, slots=True, kw_only=True)
class RingRow:
    """One coordinate; a cell a column, None where a rank has not been there."""

    step: int
    op: int
    cells: tuple[RingCell | None, ...]
    is_first_divergence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RingColumn:
    """One rank, or all ranks whose rings tell the same."""

    ranks: tuple[str, ...]
    state_text: str
    age_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RingView:
    """One comparison of the observers."""

    comparison: int
    asked_by: str
    at_s: float
    trigger: str
    silent_text: str
    threshold_text: str
    columns: tuple[RingColumn, ...]
    rows: tuple[RingRow, ...]
    missing: tuple[str, ...]
    num_ranks: int
    first_divergence: str  # "step 6, operation 4", or "" where all tell the same
    num_alike: int  # rows before the shown ones, on which all tell the same
    comparisons: tuple[int, ...]  # positions that can be asked for, oldest first


def ring_view(facts: RunFacts, position: int | None = None) -> RingView | None:
    """The comparison at `position`, from 0; None: the newest. None where none was made.

    Raises:
        IndexError: there is no such comparison.
    """
    made = [e for e in facts.events if isinstance(e.event, ProgressCompared)]
    if not made:
        return None
    timed = made[-1 if position is None else position]
    event = timed.event
    assert isinstance(event, ProgressCompared)
    groups = _alike(event.snapshots)
    shown = groups[:MAX_ROWS]
    places = _places([members[0] for members in shown])
    divergent = _first_divergence(shown, places)
    alike = len(places) if divergent is None else places.index(divergent)
    num_alike = max(0, alike - NUM_BEFORE)
    return RingView(
        comparison=event.comparison,
        asked_by=timed.source,
        at_s=facts.at_s(timed.at_ns),
        trigger=event.trigger,
        silent_text=wording.seconds(event.silent_s),
        threshold_text=wording.seconds(event.threshold_s),
        columns=tuple(_column(members) for members in shown),
        rows=tuple(_row(p, shown, p == divergent) for p in places[num_alike:]),
        missing=tuple(rank_name(rank) for rank in event.missing),
        num_ranks=len(event.group_ranks),
        first_divergence=""
        if divergent is None
        else f"step {divergent[0]}, operation {divergent[1]}",
        num_alike=num_alike,
        comparisons=tuple(range(len(made))),
    )


def entry_cell(entry: RingEntry, *, is_newest: bool) -> RingCell:
    """One entry in words; of boundaries only the newest is one that it is inside of."""
    group = "" if entry.group_role is None else f" {entry.group_role}"
    number = "" if entry.group_seq is None else f" #{entry.group_seq}"
    return RingCell(
        text=f"{entry.phase} {entry.name}{group}{number}".strip(),
        detail=entry.fingerprint or "",
        is_left=_is_left(entry, is_newest=is_newest),
    )


def state_text(snapshot: ProgressSnapshot) -> str:
    """What the kernel said of the trainer's process."""
    if snapshot.signal is not None:
        return f"ended by signal {snapshot.signal}"
    if snapshot.exit_code is not None:
        return f"ended with exit code {snapshot.exit_code}"
    letters = {"R": "running", "S": "sleeping", "D": "in the kernel", "T": "stopped",
               "t": "traced", "Z": "dead"}  # fmt: skip
    return letters.get(snapshot.trainer_state, snapshot.trainer_state)


def _counting(snapshot: ProgressSnapshot) -> dict[Place, RingEntry]:
    """The entries that all peers share; lanes of a single rank are left out."""
    return {(e.step, e.op): e for e in snapshot.ring if e.lane_op is None}


def _alike(
    snapshots: Iterable[ProgressSnapshot],
) -> list[tuple[ProgressSnapshot, ...]]:
    """Snapshots that tell the same, together; smallest groups first."""
    found: dict[object, list[ProgressSnapshot]] = {}
    for snapshot in sorted(snapshots, key=lambda s: s.rank):
        story = tuple(
            (place, _says(entry)) for place, entry in _counting(snapshot).items()
        )
        # A ring keeps its newest entries only: older ones may be missing in some.
        key = (story[-8:], snapshot.trainer_state)
        found.setdefault(key, []).append(snapshot)
    groups = [tuple(members) for members in found.values()]
    if sum(map(len, groups)) <= 8:  # few ranks: everybody has a column, in order
        return [(s,) for s in sorted((s for g in groups for s in g),
                                     key=lambda s: s.rank)]  # fmt: skip
    return sorted(groups, key=lambda members: (len(members), members[0].rank))


def _says(entry: RingEntry) -> tuple[str, str, str | None]:
    return entry.phase, entry.name, entry.fingerprint


def _is_left(entry: RingEntry, *, is_newest: bool) -> bool:
    """A collective says when it was left; a boundary is left when the next begins."""
    if entry.left_ns is not None:
        return True
    return entry.group_role is None and not is_newest


def _places(snapshots: Sequence[ProgressSnapshot]) -> list[Place]:
    """Coordinates from where all rings still reach back to, in order."""
    rings = [_counting(snapshot) for snapshot in snapshots]
    reach = [min(ring) for ring in rings if ring]
    start = max(reach, default=(0, 0))
    return sorted({place for ring in rings for place in ring if place >= start})


def _first_divergence(
    groups: Sequence[tuple[ProgressSnapshot, ...]], places: Sequence[Place]
) -> Place | None:
    rings = [_counting(members[0]) for members in groups]
    for place in places:
        told = {_says(ring[place]) if place in ring else None for ring in rings}
        if len(told) > 1:
            return place
    return None


def _row(
    place: Place, groups: Sequence[tuple[ProgressSnapshot, ...]], is_first: bool
) -> RingRow:
    rings = [_counting(members[0]) for members in groups]
    return RingRow(
        step=place[0],
        op=place[1],
        cells=tuple(
            entry_cell(ring[place], is_newest=place == max(ring))
            if place in ring else None
            for ring in rings
        ),
        is_first_divergence=is_first,
    )  # fmt: skip


def _column(members: tuple[ProgressSnapshot, ...]) -> RingColumn:
    ages = [snapshot.age_s for snapshot in members]
    return RingColumn(
        ranks=tuple(rank_name(snapshot.rank) for snapshot in members),
        state_text=state_text(members[0]),
        age_text=wording.seconds(max(ages)),
    )
