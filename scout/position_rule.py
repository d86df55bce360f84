"""Hang rules on who stands where: behind, stopped, silent host, level (SCOUT sec. 7).

Pure; called by `scout.hang`, in this order, after the collective and crash rules. A
rank inside an operation that others must join merely waits: position never blames it.
A rank that still moves, or whose phase may be silent for longer (a checkpoint, an
evaluation), is never blamed either, and while it may be waited for nobody else is.
"""

from __future__ import annotations

from collections.abc import Sequence

from scout.hang_finding import (
    HangFinding,
    Question,
    name_ranks,
    silence,
    verb,
    waiting_ranks,
)
from scout.standing import Standing, describe_place, is_beyond, is_level
from vocab.names import rank_name
from vocab.verdict import Action, Heading, Kind, Scope, State


def behind(question: Question) -> HangFinding | None:
    """Ranks that stopped while a strict majority went on past them (divergence)."""
    culprits = [
        item
        for item in question.alive
        if item.is_stalled and not item.waits and _is_left_behind(question, item)
    ]
    if not culprits:
        return None
    # A stopped process explains whoever came out of an operation later than others.
    culprits = [item for item in culprits if item.is_stopped] or culprits
    culprit = _furthest_behind(culprits)
    blamed = tuple(item.rank for item in culprits)
    past = _past(question, culprit)
    return HangFinding(
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code="rank_behind",
        reason=_tell(question, culprits, past),
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        blamed=blamed,
        victims=waiting_ranks(question, blamed),
        missing=question.missing,
        heading=Heading.BEHIND,
        k=len(past),
        n=question.n,
        statistic=silence(question, culprit),
        step=_step(culprit),
        phase=culprit.phase,
        layer=_layer(culprit),
        stall_s=culprit.age_s,
    )


def stopped(question: Question) -> HangFinding | None:
    """A minority whose processes are stopped: no peer can do that to them."""
    culprits = [item for item in question.alive if item.is_stopped and item.is_stalled]
    running = [item for item in question.alive if not item.is_stopped]
    if not culprits or not running or 2 * len(culprits) >= question.n:
        return None
    culprit = _furthest_behind(culprits)
    blamed = tuple(item.rank for item in culprits)
    letters = " and ".join(sorted({item.state for item in culprits}))
    reason = (
        f"the {verb(blamed, 'process', 'processes')} of {name_ranks(blamed)} "
        f"{verb(blamed, 'is', 'are')} stopped (state {letters}) "
        f"{describe_place(culprit)}; {len(running)} of {question.n} are not"
    )
    return HangFinding(
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code="process_stopped",
        reason=reason,
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        blamed=blamed,
        victims=waiting_ranks(question, blamed),
        missing=question.missing,
        k=len(running),
        n=question.n,
        statistic=silence(question, culprit),
        step=_step(culprit),
        phase=culprit.phase,
        layer=_layer(culprit),
        stall_s=culprit.age_s,
    )


def not_yet(question: Question) -> HangFinding | None:
    """Somebody still moves or may be silent for longer: no finding about the rest.

    Nor is there one where all that are heard have finished: nobody waits.
    """
    moving = [item for item in question.alive if not item.is_stalled]
    if not moving:
        return _others_finished(question)
    slowest = min(moving, key=lambda item: (item.place, item.rank))
    return _nobody(
        question,
        state=State.HEALTHY,
        code="not_stalled",
        reason=(
            f"{rank_name(slowest.rank)} is {describe_place(slowest)}, silent for "
            f"{slowest.age_s:.1f} s of {slowest.threshold_s:g} s"
        ),
        action=Action.CONTINUE,
        k=len(question.alive) - len(moving),
    )


def silent_host(question: Question) -> HangFinding | None:
    """Ranks without data: to blame only if everybody else waits, or died waiting.

    Where a host dies its peers' connections break in a collective that they all had
    entered: their errors speak of the missing rank. A minority of missing ranks, that
    is: seen from a cut-off minority it is the healthy majority that is missing.
    """
    if not question.missing:
        return None
    left = [item for item in question.standings if not item.is_finished]
    waiting = [s for s in left if (s.waits if s.is_dead else s.may_wait)]
    if (
        not waiting
        or len(waiting) < len(left)
        or 2 * len(question.missing) >= question.n
    ):
        return None
    missing = question.missing
    place = describe_place(waiting[0])
    return HangFinding(
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.HOST,
        reason_code="silent_host",
        reason=(
            f"nothing is heard from {name_ranks(missing)}; all {len(waiting)} peers "
            f"{_wait_or_waited(waiting)} {place}"
        ),
        action=Action.REPLACE_HOST,
        group_ranks=question.group_ranks,
        blamed=missing,
        victims=waiting_ranks(question, missing),
        missing=missing,
        k=len(waiting),
        n=question.n,
        statistic=silence(question),
        step=_step(waiting[0]),
        phase=waiting[0].phase,
        stall_s=question.silent_s,
    )


def _wait_or_waited(waiting: Sequence[Standing]) -> str:
    return "died waiting" if all(item.is_dead for item in waiting) else "wait"


def incomplete(question: Question) -> HangFinding | None:
    """Missing ranks keep everything else from being decided."""
    if not question.missing:
        return None
    return _nobody(
        question,
        state=State.INCOMPLETE_DATA,
        code="missing_ranks",
        reason=(
            f"nothing is heard from {name_ranks(question.missing)}; "
            f"{_places(question.standings)}"
        ),
        action=Action.DIAGNOSE_FABRIC,
        k=_largest_level(question),
        needed=f"the progress of {name_ranks(question.missing)}",
    )


def level(question: Question) -> HangFinding:
    """Everybody is silent and nobody is behind: a stall of the group, or a tie."""
    k = _largest_level(question)
    if k == question.n:
        place = describe_place(question.standings[0])
        state, code = State.GROUP_SCOPED, "equal_progress"
        reason = f"all {question.n} ranks are silent at the same place: {place}"
        needed = "device and fabric diagnostics: progress and collectives agree"
    elif question.n == 2:
        state, code = State.GROUP_SCOPED, "two_peers_disagree"
        reason = f"of two peers neither is a majority: {_places(question.standings)}"
        needed = "a third peer, or evidence from the processes themselves"
    elif question.is_majority(k):
        state, code = State.GROUP_SCOPED, "partly_completed"
        reason = (
            f"{k} of {question.n} are at the same place and nobody is behind but "
            f"waiting: {_places(question.standings)}"
        )
        needed = "device and fabric diagnostics: some came out of an operation only"
    else:
        state, code = State.INCONCLUSIVE, "no_majority"
        reason = (
            f"no place is shared by more than half of {question.n} ranks: "
            f"{_places(question.standings)}"
        )
        needed = "more than half of the group at one place"
    two = code == "two_peers_disagree"
    return _nobody(
        question,
        state=state,
        code=code,
        reason=reason,
        action=Action.RESTART_IN_PLACE if two else Action.DIAGNOSE_FABRIC,
        k=k,
        needed=needed,
    )


def _others_finished(question: Question) -> HangFinding | None:
    """Where all that are heard have finished, nobody waits: for no one without data."""
    if not question.standings:
        return None
    if not all(item.is_finished for item in question.standings):
        return None
    unheard = f"nothing is heard from {name_ranks(question.missing)}; all others have "
    return _nobody(
        question,
        state=State.HEALTHY,
        code="others_finished",
        reason=f"{unheard if question.missing else 'all ranks have '}finished",
        action=Action.CONTINUE,
        k=len(question.standings),
    )


def _is_left_behind(question: Question, item: Standing) -> bool:
    return question.is_majority(len(_past(question, item)))


def _past(question: Question, item: Standing) -> list[Standing]:
    """Ranks that got beyond `item`, or wait where it does not take part.

    The second are those that wait at the same coordinate while `item` is in a phase of
    its own, such as a checkpoint that only one rank writes.
    """
    return [
        other
        for other in question.standings
        if other is not item
        and (
            is_beyond(other, item)
            or (
                other.waits
                and other.place == item.place
                and not is_level(other, item)
                and not is_beyond(item, other)
            )
        )
    ]


def _furthest_behind(standings: Sequence[Standing]) -> Standing:
    """Which of several culprits the verdict's figures are of."""
    return min(standings, key=lambda item: (item.place, -item.age_s, item.rank))


def _largest_level(question: Question) -> int:
    return max(
        (
            sum(is_level(one, other) for other in question.standings)
            for one in question.standings
        ),
        default=0,
    )


def _tell(
    question: Question, culprits: Sequence[Standing], past: Sequence[Standing]
) -> str:
    parts = [f"{rank_name(c.rank)} stopped {describe_place(c)}" for c in culprits]
    waiting = [item for item in past if item.waits]
    majority = waiting if question.is_majority(len(waiting)) else past
    does = "wait" if majority is waiting else "went on past it, now"
    place = describe_place(min(majority, key=lambda item: (item.place, item.rank)))
    stop = [c.state for c in culprits if c.is_stopped]
    process = f" (its process is stopped, state {stop[0]})" if stop else ""
    return (
        f"{'; '.join(parts)}{process}; {len(majority)} of {question.n} {does} {place}"
    )


def _places(standings: Sequence[Standing]) -> str:
    return ", ".join(
        f"{rank_name(item.rank)} {'waits ' if item.waits else 'is '}"
        f"{describe_place(item)}"
        for item in standings
    )


def _nobody(
    question: Question,
    *,
    state: State,
    code: str,
    reason: str,
    action: Action,
    k: int,
    needed: str | None = None,
) -> HangFinding:
    healthy = state is State.HEALTHY
    first = question.standings[0] if question.standings else None
    return HangFinding(
        kind=Kind.NONE if healthy else Kind.HANG,
        state=state,
        scope=Scope.PROCESS_GROUP,
        reason_code=code,
        reason=reason,
        action=action,
        group_ranks=question.group_ranks,
        victims=() if healthy else waiting_ranks(question, ()),
        missing=question.missing,
        k=k,
        n=question.n,
        statistic=silence(question),
        step=None if first is None else _step(first),
        phase=None if first is None else first.phase,
        stall_s=None if healthy else question.silent_s,
        needed=needed,
    )


def _step(standing: Standing) -> int | None:
    return None if standing.entry is None else standing.entry.step


def _layer(standing: Standing) -> str | None:
    entry = standing.entry
    layered = entry is not None and entry.phase in ("forward", "backward")
    return entry.name if entry is not None and layered else None
