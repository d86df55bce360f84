"""One verdict per stall: what a finding means beside what was already told. Pure.

Every observer keeps such a book, and tells the others when it wrote something in it, so
that any of them can go on when the one that wrote dies. Called by `scout.observer`.

    no incident, finding            -> open it
    incident, nobody moved since    -> known (also when its victims die of it)
    incident of missing data        -> superseded once somebody can be named
    incident, the culprit moved on  -> close it; what is found then is a new one
    a wrong collective told before  -> known, as long as the rings still show it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scout.hang_finding import HangFinding
from vocab.events import ProgressSnapshot
from vocab.names import rank_name
from vocab.verdict import Kind, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A stall that was reported and is not over."""

    number: int
    verdict_id: str
    state: State
    writer: int
    blamed: tuple[int, ...]
    heads: dict[str, int]  # rank -> sequence number of its newest entry at the verdict
    wrong_call: str = ""  # the collective that it is about, see `wrong_call`

    def moved(self, snapshots: Sequence[ProgressSnapshot]) -> tuple[int, ...]:
        """Ranks whose progress shows that it is over.

        That of a culprit; where the culprit is not seen, or there is none, anybody's.
        """
        now = heads_of(snapshots)
        known = [int(rank) for rank in self.heads]
        seen = [rank for rank in self.blamed if rank in known]
        return tuple(
            rank
            for rank in sorted(seen or known)
            if now.get(str(rank), -1) > self.heads[str(rank)]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is to be written about a finding; nothing of it may be set."""

    closes: Incident | None = None
    why_closed: str = ""
    number: int | None = None  # of the incident that is to be opened
    supersedes: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return self.closes is None and self.number is None


class IncidentBook:
    """The incidents of one group, as far as this observer knows."""

    def __init__(self) -> None:
        self.count = 0
        self.current: Incident | None = None
        self._told: set[str] = set()  # wrong calls

    def judge(
        self, finding: HangFinding, snapshots: Sequence[ProgressSnapshot]
    ) -> Judgement:
        """What to write about `finding`; changes nothing."""
        current = self.current
        moved = () if current is None else current.moved(snapshots)
        closes = current if moved else None
        why = f"{', '.join(map(rank_name, moved))} went on" if moved else ""
        is_old = wrong_call(finding) in self._told
        if finding.state is State.HEALTHY or (is_old and moved):
            return Judgement(closes=closes, why_closed=why)
        if is_old:  # it completed, and its entries have not rolled by yet
            return Judgement()
        if current is None or closes is not None:
            return Judgement(closes=closes, why_closed=why, number=self.count + 1)
        better = (
            current.state is State.INCOMPLETE_DATA
            and finding.state is State.ATTRIBUTED
            and finding.kind is Kind.HANG
        )
        if better:  # a missing rank came back before anything moved
            return Judgement(number=current.number, supersedes=current.verdict_id)
        return Judgement()

    def on_opened(self, incident: Incident) -> None:
        """A verdict was written, here or by a peer."""
        self.count = max(self.count, incident.number)
        self.current = incident
        if incident.wrong_call:
            self._told.add(incident.wrong_call)

    def on_closed(self, number: int) -> None:
        """Incident `number` is over."""
        self.count = max(self.count, number)
        if self.current is not None and self.current.number <= number:
            self.current = None


def wrong_call(finding: HangFinding) -> str:
    """The very collective that a finding is about; empty for other findings.

    Everything after it is a consequence: a rank that is off by one stays so.
    """
    if finding.surface is None:
        return ""
    # A shift shows at every later step anew, a mismatch at its own number only.
    at = "" if finding.surface.endswith(" sequence") else finding.surface
    return f"{finding.blamed} {finding.reason_code} {at}"


def heads_of(snapshots: Sequence[ProgressSnapshot]) -> Mapping[str, int]:
    """Sequence number of every rank's newest entry; -1 before the first."""
    return {
        str(item.rank): item.ring[-1].seq if item.ring else -1 for item in snapshots
    }


def choose_writer(
    finding: HangFinding, snapshots: Sequence[ProgressSnapshot]
) -> int | None:
    """The observer that writes: of the lowest peer that is not blamed, and lives.

    None: nobody answered, not even the own ring.
    """
    present = sorted(
        item.rank for item in snapshots if item.trainer_state != "finished"
    )
    living = {
        item.rank for item in snapshots if item.trainer_state not in ("gone", "Z", "X")
    }
    for wanted in (
        [rank for rank in present if rank not in finding.blamed and rank in living],
        [rank for rank in present if rank not in finding.blamed],
        present,
    ):
        if wanted:
            return wanted[0]
    return None
