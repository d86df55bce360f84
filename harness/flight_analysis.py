"""The analysis of a job's flight-recorder dumps: what was found, and its run directory.

    Folder ─► scout.flight_groups ─► scout.flight_recorder ─► Analysis
    Analysis ─► run directory of kind `analysis`: meta.json, events, ended.json

Called by `faultyard analyze flight-recorder`. The directory has no scenario and no
results: nothing was launched, so nothing was expected, and no outcome is made up. Run
page, report, JSON, JUnit and `faultyard show` read it like any other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from harness.flight_folder import Folder
from harness.provenance import provenance
from harness.store import ANALYSIS, Ended, Meta, RunDirectory, Store, new_run_id
from scout.flight_groups import groups_of, world_of
from scout.flight_recorder import GroupFinding, judge
from scout.hang_verdict import to_verdict
from vocab.events import (
    Problem,
    ProgressCompared,
    ProgressSnapshot,
    RingEntry,
    VerdictIssued,
)
from vocab.journal import EventWriter
from vocab.names import rank_name
from vocab.verdict import EvidenceRef, State, Verdict

SOURCE = "flight-recorder"
EXIT_FOUND, EXIT_INCONCLUSIVE = 0, 2
_KEPT = 64  # newest collectives of a ring that stay in the evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Everything that was found in one folder."""

    folder: Folder
    world: tuple[int, ...]
    silence_s: float
    found: tuple[GroupFinding, ...]

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the job of which there is no dump."""
        given = {dump.rank for dump in self.folder.dumps}
        return tuple(rank for rank in self.world if rank not in given)

    @property
    def blamed(self) -> tuple[int, ...]:
        """Ranks that are named in any group."""
        return tuple(sorted({r for item in self.found for r in item.finding.blamed}))

    @property
    def exit_code(self) -> int:
        """0: somebody is named, or every group is healthy; 2: neither."""
        states = {item.finding.state for item in self.found}
        if self.blamed or states == {State.HEALTHY}:
            return EXIT_FOUND
        return EXIT_INCONCLUSIVE

    @property
    def summary(self) -> str:
        """The result in one line."""
        groups = f"{len(self.found)} group{'' if len(self.found) == 1 else 's'}"
        if self.blamed:
            return f"{', '.join(map(rank_name, self.blamed))} named; {groups} compared"
        if self.exit_code == EXIT_FOUND:
            return f"healthy: nothing is stuck in {groups}"
        return f"nobody can be named; {groups} compared"


def analyze(
    folder: Folder,
    *,
    silence_s: float,
    num_ranks: int | None = None,
    all_dumps_given: bool = False,
) -> Analysis:
    """Compare the dumps, group by group.

    Args:
        num_ranks: of the job; None: as many as the dumps show.
        all_dumps_given: a rank without a dump wrote none.

    Raises:
        DumpError: the dumps do not fit together.
    """
    world = world_of(folder.dumps, num_ranks)
    found = [
        judge(group, silence_s=silence_s, all_dumps_given=all_dumps_given)
        for group in groups_of(folder.dumps, world)
    ]
    # Whom to look at comes first, and what is healthy last.
    order = [State.ATTRIBUTED, State.GROUP_SCOPED, State.INCONCLUSIVE,
             State.INCOMPLETE_DATA, State.HEALTHY]  # fmt: skip
    found.sort(key=lambda item: order.index(item.finding.state))
    return Analysis(folder=folder, world=world, silence_s=silence_s, found=tuple(found))


def verdicts(analysis: Analysis, *, at_ns: int = 0) -> tuple[Verdict, ...]:
    """One verdict for every group, in the analysis' order."""
    return tuple(
        to_verdict(item.finding, incident=number, group=item.group.label, at_ns=at_ns)
        for number, item in enumerate(analysis.found, 1)
    )


def write(analysis: Analysis, runs_root: Path, *, command: str) -> RunDirectory:
    """Keep an analysis as a run directory of its own kind.

    Raises:
        OSError: the folder cannot be written.
    """
    began_s = time.monotonic()
    made_with = provenance()
    name = "flight-recorder"
    run = Store(runs_root.resolve()).create(
        None,
        Meta(
            run_id=new_run_id(name),
            scenario_name=name,
            title=f"Flight-recorder dumps in {analysis.folder.path}",
            seed=0,
            num_ranks=len(analysis.world),
            num_steps=0,
            created_wall_ns=time.time_ns(),
            command=command,
            commit=made_with.commit,
            dirty=made_with.dirty,
            versions=made_with.versions,
            host=made_with.host,
            kind=ANALYSIS,
        ),
    )
    with EventWriter(run.events, SOURCE) as journal:
        _write_events(analysis, journal)
    run.write_ended(
        Ended(
            reason="analysed",
            detail=analysis.summary,
            wall_s=time.monotonic() - began_s,
            first_step_s=None,
        )
    )
    return run


def _write_events(analysis: Analysis, journal: EventWriter) -> None:
    if analysis.missing:
        ranks = ", ".join(map(rank_name, analysis.missing))
        journal.write(Problem(component=SOURCE, message=f"There is no dump of {ranks}.",
                              fix="Add them to the folder."))  # fmt: skip
    told = verdicts(analysis, at_ns=time.monotonic_ns())
    quiet = any(item.state is not State.HEALTHY for item in told)
    for item, verdict in zip(analysis.found, told, strict=True):
        stamped = journal.write(_compared(analysis, item, verdict.incident))
        if quiet and verdict.state is State.HEALTHY:
            continue  # a card for each of a thousand healthy groups would hide the rest
        evidence = (EvidenceRef(source=SOURCE, seq=stamped.seq),)
        journal.write(VerdictIssued(verdict=replace(verdict, evidence=evidence)))


def _compared(
    analysis: Analysis, item: GroupFinding, comparison: int
) -> ProgressCompared:
    group = item.group
    return ProgressCompared(
        comparison=comparison,
        trigger=SOURCE,
        rank=group.ranks[0],
        silent_s=item.silent_s,
        threshold_s=analysis.silence_s,
        group_ranks=group.ranks,
        snapshots=without_agreed(group.snapshots),
        missing=group.missing,
    )


def without_agreed(
    snapshots: tuple[ProgressSnapshot, ...], kept: int = _KEPT
) -> tuple[ProgressSnapshot, ...]:
    """Rings without what tells nothing: old collectives that all published alike.

    Every ring begins at the same number, so what is left compares as before.
    """
    if not snapshots:
        return snapshots
    published: list[dict[int, str | None]] = [
        {e.op: e.fingerprint for e in item.ring if e.group_seq is not None}
        for item in snapshots
    ]
    first, others = published[0], published[1:]
    numbers = sorted({number for of_rank in published for number in of_rank})
    start = numbers[0] if numbers else 0
    for number in numbers[: max(0, len(numbers) - kept)]:
        if any(other.get(number) != first.get(number) for other in others):
            break
        start = number + 1
    return tuple(replace(item, ring=_from(item.ring, start)) for item in snapshots)


def _from(ring: tuple[RingEntry, ...], start: int) -> tuple[RingEntry, ...]:
    return tuple(e for e in ring if e.op >= start) or ring[-1:]
