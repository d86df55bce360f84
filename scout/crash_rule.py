"""Hang rule: a rank's process died; who was it, and who died of it (SCOUT sec. 2.1, 7).

Pure; called by `scout.hang` after the collective rule. The first to die is the culprit
unless it may have been aborted for somebody else: a healthy rank dies of a peer's wrong
collective (SIGABRT or an exception out of the operation), and then it stood inside an
operation that others must join, or not behind them.
"""

from __future__ import annotations

import signal

from scout.hang_finding import (
    HangFinding,
    Question,
    name_ranks,
    verb,
    waiting_ranks,
)
from scout.standing import Standing, describe_end, describe_place, is_beyond
from vocab.names import rank_name
from vocab.verdict import Action, Kind, Scope, State, Statistic

PATIENCE_S = 2.0
"""How long after a death that may be a victim's the others get to show who it was."""

_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP)
_OWN_PHASES = ("data", "optimizer", "evaluation", "checkpoint")


def crash(question: Question) -> HangFinding | None:
    """The rank that died first, or why it cannot be told whether it is to blame."""
    dead = sorted(
        (item for item in question.standings if item.is_dead),
        key=lambda item: (-(item.gone_s or 0.0), item.rank),
    )
    if not dead:
        return None
    first = dead[0]
    if _ended_from_outside(question, dead):
        return _nothing(question, first, "the whole group was ended from outside")
    if question.missing and all(map(_may_have_lost_a_peer, dead)):
        return None  # of one that is not heard of: the silent-host rule says whether
    if not _may_be_victim(question, first):
        return _attribute(question, first)
    behind = [item for item in question.standings if _is_behind(question, item)]
    for item in behind:
        if item.is_dead:  # it raised first and was slower to leave
            return _attribute(question, item)
    if any(not item.is_over for item in behind):
        return None  # it still runs: the position rule says when it is too late
    if (first.gone_s or 0.0) < PATIENCE_S and question.alive:
        return _nothing(question, first, "who died with it or why is not known yet")
    return _undecided(question, first)


def _ended_from_outside(question: Question, dead: list[Standing]) -> bool:
    number = dead[0].signal
    same = sum(item.signal == number for item in dead)
    everybody = not question.alive and len(dead) > 1
    return number in _FROM_OUTSIDE and (
        question.is_majority(same) or (everybody and same == len(dead))
    )


def _may_be_victim(question: Question, first: Standing) -> bool:
    if first.signal is not None and first.signal != signal.SIGABRT:
        return False  # SIGKILL, SIGSEGV, ...: no peer's collective does that
    if first.waits:
        return not _is_agreed(question, first)
    if first.phase in _OWN_PHASES:
        return False
    return not _is_behind(question, first)


def _may_have_lost_a_peer(item: Standing) -> bool:
    """Whether it ended as one does whose peer's connection breaks in a collective."""
    return item.waits and item.signal in (None, signal.SIGABRT)


def _is_agreed(question: Question, first: Standing) -> bool:
    """Whether a majority published the very collective in which `first` died."""
    entry = first.entry
    if entry is None or entry.group_seq is None or entry.fingerprint is None:
        return False
    wanted = (entry.group_role, entry.group_seq, entry.fingerprint)
    return question.is_majority(
        sum(
            any((e.group_role, e.group_seq, e.fingerprint) == wanted for e in item.ring)
            for item in question.standings
        )
    )


def _is_behind(question: Question, item: Standing) -> bool:
    if item.waits or item.is_finished:
        return False
    others = [other for other in question.standings if other is not item]
    return question.is_majority(sum(is_beyond(other, item) for other in others))


def _attribute(question: Question, culprit: Standing) -> HangFinding:
    alive = sum(not item.is_dead for item in question.standings)
    victims = waiting_ranks(question, (culprit.rank,))
    reason = (
        f"{rank_name(culprit.rank)} {describe_end(culprit)} {describe_place(culprit)}"
    )
    if victims:
        reason += (
            f"; {name_ranks(victims)} {verb(victims, 'waits', 'wait')} or died of it"
        )
    return HangFinding(
        kind=Kind.CRASH,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code="process_died",
        reason=reason,
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        blamed=(culprit.rank,),
        victims=victims,
        missing=question.missing,
        k=alive,
        n=question.n,
        statistic=_statistic(culprit),
        step=_step(culprit),
        phase=culprit.phase,
        layer=_layer(culprit),
        stall_s=culprit.gone_s,
    )


def _undecided(question: Question, first: Standing) -> HangFinding:
    return HangFinding(
        kind=Kind.CRASH,
        state=State.GROUP_SCOPED,
        scope=Scope.PROCESS_GROUP,
        reason_code="maybe_victim",
        reason=(
            f"{rank_name(first.rank)} {describe_end(first)} {describe_place(first)}, "
            "where a peer's wrong collective kills a healthy rank"
        ),
        action=Action.RESTART_IN_PLACE,
        group_ranks=question.group_ranks,
        victims=waiting_ranks(question, ()),
        missing=question.missing,
        k=sum(not item.is_dead for item in question.standings),
        n=question.n,
        statistic=_statistic(first),
        step=_step(first),
        phase=first.phase,
        layer=_layer(first),
        stall_s=first.gone_s,
        needed=(
            "fingerprints of the collectives: choose the recording backend (tier "
            f"full), and the output of {rank_name(first.rank)}"
        ),
    )


def _nothing(question: Question, first: Standing, why: str) -> HangFinding:
    return HangFinding(
        kind=Kind.NONE,
        state=State.HEALTHY,
        scope=Scope.PROCESS_GROUP,
        reason_code="not_decided",
        reason=f"{rank_name(first.rank)} {describe_end(first)}: {why}",
        action=Action.CONTINUE,
        group_ranks=question.group_ranks,
        missing=question.missing,
        k=0,
        n=question.n,
        statistic=_statistic(first),
    )


def _statistic(standing: Standing) -> Statistic:
    return Statistic(
        name="process",
        value=None,
        threshold=None,
        expression=f"{rank_name(standing.rank)} {describe_end(standing)}",
    )


def _step(standing: Standing) -> int | None:
    return None if standing.entry is None else standing.entry.step


def _layer(standing: Standing) -> str | None:
    entry = standing.entry
    layered = entry is not None and entry.phase in ("forward", "backward")
    return entry.name if entry is not None and layered else None
