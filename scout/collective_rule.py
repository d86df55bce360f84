"""Hang rule: who left the sequence of collectives that its group shares (SCOUT sec. 7).

Pure; called by `scout.hang`. Looks at two things, both independent of who hangs, aborts
or finishes, because on gloo that is rarely the culprit (FACTS):

    mismatch   ranks published incompatible fingerprints for the same number of the
               group's sequence; the first such number counts
    shift      a rank ran one collective more or fewer than its peers in the same steps,
               and since then all of them pair off by one

A group is named by its role in the mesh, so that peers' other groups compare too.
Entries without a number (point to point) are not compared.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scout.fingerprint import Agreement, agreement, differing_fields
from scout.hang_finding import (
    HangFinding,
    Question,
    name_ranks,
    silence,
    verb,
    waiting_ranks,
)
from scout.standing import NO_STEP, Standing
from vocab.events import RingEntry
from vocab.verdict import Action, Heading, Kind, Scope, State, Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mismatch:
    role: str
    number: int
    entries: dict[int, RingEntry]
    agreement: Agreement

    @property
    def name(self) -> str:
        return f"{self.role}[{self.number}]"

    @property
    def fields(self) -> tuple[str, ...]:
        published = self.entries[self.agreement.differ[0]].fingerprint
        return differing_fields(self.agreement.reference, published or "")


def collective_mismatch(question: Question) -> HangFinding | None:
    """The first number of a sequence at which fingerprints are incompatible."""
    mismatch = _first_mismatch(question)
    if mismatch is None:
        return None
    if question.is_majority(len(mismatch.agreement.agree)):
        return _attribute(question, mismatch)
    if not question.all_stalled or len(mismatch.entries) < len(question.standings):
        return None  # who has not come there yet may still decide it
    return _undecided(question, mismatch)


def _first_mismatch(question: Question) -> _Mismatch | None:
    published: dict[tuple[str, int], dict[int, RingEntry]] = {}
    for standing in question.standings:
        for entry in standing.ring:
            if entry.group_seq is not None and entry.fingerprint is not None:
                key = (entry.group_role or "", entry.group_seq)
                published.setdefault(key, {})[standing.rank] = entry
    found = [
        _Mismatch(role=role, number=number, entries=entries, agreement=agreed)
        for (role, number), entries in published.items()
        if (agreed := agreement({r: e.fingerprint or "" for r, e in entries.items()}))
        and agreed.differ
    ]

    def place(item: _Mismatch) -> tuple[int, int, str, int]:
        step, op = min((entry.step, entry.op) for entry in item.entries.values())
        return (step, op, item.role, item.number)

    return min(found, key=place, default=None)


def _attribute(question: Question, mismatch: _Mismatch) -> HangFinding:
    agreed = mismatch.agreement
    heading = _heading(question, mismatch)
    fields = mismatch.fields
    culprit = mismatch.entries[agreed.differ[0]]
    reason_code = {
        None: "collective_mismatch",
        Heading.AHEAD: "extra_collective",
        Heading.BEHIND: "skipped_collective",
    }[heading]
    deed = {
        None: f"a different {' and '.join(fields)}",
        Heading.AHEAD: "one collective more",
        Heading.BEHIND: "one collective fewer",
    }[heading]
    in_step = "" if culprit.step == NO_STEP else f" in step {culprit.step}"
    reason = (
        f"{name_ranks(agreed.differ)} called {deed} at {mismatch.name}{in_step}: "
        f"{culprit.fingerprint}, where {len(agreed.agree)} of {question.n} called "
        f"{agreed.reference}"
    )
    return HangFinding(
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code=reason_code,
        reason=reason,
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        blamed=agreed.differ,
        victims=waiting_ranks(question, agreed.differ),
        missing=question.missing,
        heading=heading,
        k=len(agreed.agree),
        n=question.n,
        statistic=_statistic(
            question, f"fingerprint of {mismatch.name} is the group's"
        ),
        step=culprit.step,
        phase=culprit.phase,
        surface=f"{mismatch.name} {'+'.join(fields)}",
        stall_s=question.silent_s,
    )


def _undecided(question: Question, mismatch: _Mismatch) -> HangFinding:
    agreed = mismatch.agreement
    two = question.n == 2
    fields = " and ".join(mismatch.fields)
    return HangFinding(
        kind=Kind.HANG,
        state=State.GROUP_SCOPED if two else State.INCONCLUSIVE,
        scope=Scope.PROCESS_GROUP,
        reason_code="two_peers_disagree" if two else "no_majority",
        reason=(
            f"{name_ranks(tuple(sorted(mismatch.entries)))} disagree on the {fields} "
            f"of {mismatch.name}; at most {len(agreed.agree)} of {question.n} agree"
        ),
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        victims=(),
        missing=question.missing,
        k=len(agreed.agree),
        n=question.n,
        statistic=_statistic(
            question, f"fingerprint of {mismatch.name} is the group's"
        ),
        step=min(entry.step for entry in mismatch.entries.values()),
        surface=f"{mismatch.name} {'+'.join(mismatch.fields)}",
        stall_s=question.silent_s,
        needed="more than half of the group with one and the same fingerprint",
    )


def _heading(question: Question, mismatch: _Mismatch) -> Heading | None:
    """Whether the culprit added or skipped one, told by where the two meet again."""
    agreed = mismatch.agreement
    culprit = question.of(agreed.differ[0])
    usual = question.of(agreed.agree[0])
    if culprit is None or usual is None:
        return None
    mine, theirs = _texts(culprit, mismatch.role), _texts(usual, mismatch.role)
    number = mismatch.number
    if mismatch.fields != ("root",) and mine[number] in theirs.values():
        # It calls what its peers call elsewhere: too early, or too late? One that runs
        # a call more makes it before the boundaries that its peers passed meanwhile.
        here, there = (
            _boundaries_before(mismatch.entries[ranks[0]], standing)
            for ranks, standing in ((agreed.differ, culprit), (agreed.agree, usual))
        )
        if here is not None and there is not None and here != there:
            return Heading.AHEAD if here < there else Heading.BEHIND
    if mine.get(number + 1) == theirs[number]:
        return Heading.AHEAD
    if theirs.get(number + 1) == mine[number]:
        return Heading.BEHIND
    # The majority hangs in `number`; what it would call next shows in earlier steps.
    # The nearest earlier occurrence decides.
    for earlier in sorted(theirs, reverse=True):
        if earlier < number and theirs[earlier] == theirs[number]:
            follows = theirs.get(earlier + 1) == mine[number]
            return Heading.BEHIND if follows else None
    return None


def _boundaries_before(entry: RingEntry, standing: Standing) -> tuple[int, int] | None:
    """(step, boundaries of it) passed before a call; None: the ring is too short."""
    passed = [
        item
        for item in standing.ring
        if item.group_role is None and item.lane_op is None and item.seq < entry.seq
    ]
    if not passed:
        return None
    step = passed[-1].step
    return step, sum(item.step == step for item in passed)


def _texts(standing: Standing, role: str) -> dict[int, str]:
    return {
        entry.group_seq: entry.fingerprint
        for entry in standing.ring
        if entry.group_role == role and entry.group_seq is not None
        and entry.fingerprint is not None
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Numbers of one role in one step of one rank."""

    first: int | None  # None: the ring does not reach back to the step's beginning
    last: int
    is_complete: bool  # the rank has left the step


def sequence_shift(question: Question) -> HangFinding | None:
    """Ranks that ran more or fewer collectives than a majority did up to some step."""
    for role, step in _roles_and_steps(question):
        counts = {
            item.rank: count
            for item in question.standings
            if (count := _count(item, role, step)) is not None
        }
        firsts = {r: c.first for r, c in counts.items() if c.first is not None}
        off = _minority(question, firsts)
        if off is None:
            off = _minority_in_step(question, counts)
        if off is not None:
            return _attribute_shift(question, role, step, *off)
    return None


def _roles_and_steps(question: Question) -> list[tuple[str, int]]:
    found = {
        (entry.step, entry.group_role or "")
        for standing in question.standings
        for entry in standing.ring
        if entry.group_seq is not None
    }
    return [(role, step) for step, role in sorted(found)]


def _count(standing: Standing, role: str, step: int) -> _Count | None:
    numbers = [
        entry.group_seq
        for entry in standing.ring
        if (entry.group_role, entry.step) == (role, step)
        and entry.group_seq is not None
    ]
    if not numbers:
        return None
    oldest = standing.ring[0]
    reaches_back = oldest.step < step or (oldest.step, oldest.op) == (step, 0)
    return _Count(
        first=min(numbers) if reaches_back else None,
        last=max(numbers),
        is_complete=standing.place[0] > step or standing.is_finished,
    )


def _minority(
    question: Question, numbers: dict[int, int]
) -> tuple[tuple[int, ...], int, int] | None:
    """Ranks off a strict majority's number, that number's votes, and by how many."""
    if not numbers:
        return None
    usual, k = min(
        Counter(numbers.values()).items(), key=lambda item: (-item[1], item[0])
    )
    off = tuple(sorted(rank for rank in numbers if numbers[rank] != usual))
    if not off or not question.is_majority(k):
        return None
    return off, k, numbers[off[0]] - usual


def _minority_in_step(
    question: Question, counts: dict[int, _Count]
) -> tuple[tuple[int, ...], int, int] | None:
    """The same within the step: who left it with too few, or goes on after the others.

    A rank that is still in the step may catch up, so only surpluses count for it.
    """
    lasts = {rank: count.last for rank, count in counts.items()}
    off = _minority(question, lasts)
    if off is None:
        return None
    ranks, k, by = off
    usual = lasts[ranks[0]] - by
    majority_left = all(c.is_complete for c in counts.values() if c.last == usual)
    proven = tuple(
        rank
        for rank in ranks
        if (lasts[rank] < usual and counts[rank].is_complete)
        or (lasts[rank] > usual and majority_left)
    )
    return (proven, k, lasts[proven[0]] - usual) if proven else None


def _attribute_shift(
    question: Question, role: str, step: int, off: tuple[int, ...], k: int, by: int
) -> HangFinding:
    more = by > 0
    reason = (
        f"up to step {step} {name_ranks(off)} {verb(off, 'has', 'have')} run {abs(by)} "
        f"collective{verb(tuple(range(abs(by))), '', 's')} of group {role} "
        f"{'more' if more else 'fewer'} than {k} of {question.n}"
    )
    culprit = question.of(off[0])
    return HangFinding(
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code="extra_collective" if more else "skipped_collective",
        reason=reason,
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        blamed=off,
        victims=waiting_ranks(question, off),
        missing=question.missing,
        heading=Heading.AHEAD if more else Heading.BEHIND,
        k=k,
        n=question.n,
        statistic=_statistic(question, f"collectives of {role} up to step {step}"),
        step=step,
        phase=None if culprit is None else culprit.phase,
        surface=f"{role} sequence",
        stall_s=question.silent_s,
    )


def _statistic(question: Question, exact: str) -> Statistic:
    if question.silent_s >= question.threshold_s:
        return silence(question)
    # Compared for another reason than silence: an exact comparison has no threshold.
    return Statistic(name="collectives", value=None, threshold=None, expression=exact)
