"""Verdicts as cards: who, why in one sentence, how sure, what next. Pure.

Called by `run`. Repeats a verdict's own words and numbers; adds none. Where nobody is
blamed it says why: what was compared, the nearest statistic, and what is needed
(DESIGN sec. 4, 2.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.results import Results
from harness.views import wording
from harness.views.source import RunFacts, TimedEvent
from vocab.events import IncidentClosed, VerdictIssued
from vocab.verdict import Action, Kind, Scope, State, Statistic, SurfaceBitmap, Verdict

_CULPRIT = {
    Kind.SDC: "computes wrong values",
    Kind.STRAGGLER: "is slow",
    Kind.HANG: "stopped making progress",
    Kind.CRASH: "died",
    Kind.LINK: "loses packets",
    Kind.NONE: "is blamed",
}
_SUSPICION = {
    Kind.SDC: "Values disagree",
    Kind.STRAGGLER: "Somebody is slow",
    Kind.HANG: "Progress stopped",
    Kind.CRASH: "A process died",
    Kind.LINK: "Packets are lost",
    Kind.NONE: "Nothing was found",
}
_NEXT = {
    Action.CONTINUE: "Continue: nothing to repair.",
    Action.RESTART_IN_PLACE: "Restart the job in place; the machine may stay.",
    Action.REPLACE_HOST: "Replace the host of what is blamed, then restart.",
    Action.DIAGNOSE_FABRIC: "Diagnose the fabric before any host is replaced.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticView:
    """The number that decided; the texts are what every surface prints."""

    name: str
    value: float | None
    value_text: str
    threshold: float | None
    threshold_text: str
    expression: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCard:
    """One verdict as a person reads it; `verdict_id` is "" where there is none."""

    verdict_id: str
    detector: str
    kind: Kind
    state: State
    scope: Scope
    who: str
    headline: str
    why: str
    votes_text: str  # "3 of 4", or that there was no vote
    confirmations_text: str
    statistic: StatisticView | None
    next_action: Action
    next_text: str
    needed: str
    reason_code: str
    group: str
    group_ranks: tuple[int, ...]
    step: int | None
    missing: tuple[str, ...]
    at_s: float | None
    at_text: str
    # What a run without a verdict does not have:
    blamed: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    heading: str = ""
    surface: str = ""
    layer: str = ""
    phase: str = ""
    stall_text: str = ""  # "" where nothing stalled
    replay_text: str = ""  # "" where nothing was replayed
    bitmaps: tuple[SurfaceBitmap, ...] = ()
    evidence: tuple[str, ...] = ()
    closed_text: str = ""  # "" while the incident is open
    is_superseded: bool = False
    judged: str = ""  # "expected", "extra", or "" before the check


def cards(facts: RunFacts) -> tuple[VerdictCard, ...]:
    """A card for every verdict: those in force first, then by time, newest first."""
    issued = [e for e in facts.events if isinstance(e.event, VerdictIssued)]
    closed = {
        e.event.verdict_id: e.event
        for e in facts.events
        if isinstance(e.event, IncidentClosed)
    }
    old = {_verdict(e).supersedes for e in issued}
    found = [
        _card(facts, e, closed.get(_verdict(e).verdict_id),
              superseded=_verdict(e).verdict_id in old)
        for e in issued
    ]  # fmt: skip
    found.sort(key=lambda card: (card.is_superseded, -(card.at_s or 0.0)))
    return tuple(found)


def statistic_view(statistic: Statistic | None) -> StatisticView | None:
    """A statistic with its texts."""
    if statistic is None:
        return None
    threshold = (
        "none: an exact comparison"
        if statistic.threshold is None
        else wording.number(statistic.threshold, statistic.unit)
    )
    return StatisticView(
        name=statistic.name,
        value=statistic.value,
        value_text=wording.number(statistic.value, statistic.unit),
        threshold=statistic.threshold,
        threshold_text=threshold,
        expression=statistic.expression,
        unit=statistic.unit,
    )


def _verdict(timed: TimedEvent) -> Verdict:
    assert isinstance(timed.event, VerdictIssued)
    return timed.event.verdict


def _card(
    facts: RunFacts,
    timed: TimedEvent,
    closed: IncidentClosed | None,
    *,
    superseded: bool,
) -> VerdictCard:
    v = _verdict(timed)
    at_s = facts.at_s(timed.at_ns)
    return VerdictCard(
        verdict_id=v.verdict_id, detector=timed.source, kind=v.kind, state=v.state,
        scope=v.scope, who=wording.names(v.blamed), headline=_headline(v), why=_why(v),
        votes_text=_votes(v), confirmations_text=_confirmations(v),
        statistic=statistic_view(v.statistic), next_action=v.action,
        next_text=_next(v), needed=wording.sentence(v.needed or ""),
        reason_code=v.reason_code, group=v.group, group_ranks=v.group_ranks,
        step=v.step, missing=v.missing, at_s=at_s, at_text=wording.seconds(at_s),
        blamed=v.blamed, victims=v.victims,
        heading=v.heading.value if v.heading else "", surface=v.surface or "",
        layer=v.layer or "", phase=v.phase or "",
        stall_text="" if v.stall_s is None else wording.seconds(v.stall_s),
        replay_text=_replay(v), bitmaps=v.bitmaps,
        evidence=tuple(f"{ref.source} #{ref.seq}" for ref in v.evidence),
        closed_text=_closed(closed), is_superseded=superseded,
        judged=_judged(facts.results, v.verdict_id),
    )  # fmt: skip


def _headline(v: Verdict) -> str:
    if v.state is State.ATTRIBUTED:
        return f"{wording.names(v.blamed)} {_CULPRIT[v.kind]}"
    if v.state is State.HEALTHY:
        return "Nobody is blamed: healthy"
    if v.reason_code == "group_slowdown":
        return f"{v.group} is slow as a whole; nobody can be named"
    if v.state is State.GROUP_SCOPED and v.suspects:
        return f"{' or '.join(v.suspects)} {_CULPRIT[v.kind]}; nothing tells which"
    if v.state is State.GROUP_SCOPED:
        return f"{_SUSPICION[v.kind]} within {v.group}; nobody can be named"
    if v.state is State.INCOMPLETE_DATA:
        return f"{_SUSPICION[v.kind]}? Too little data to tell"
    return f"{_SUSPICION[v.kind]}, but nobody stands out"


def _why(v: Verdict) -> str:
    reason = v.reason.strip().rstrip(".")
    if v.votes is not None:
        vote = wording.k_of_n(v.votes.k, v.votes.n)
        if vote not in reason:
            reason = f"{reason} ({vote} peers agree)"
    return wording.sentence(reason)


def _votes(v: Verdict) -> str:
    return wording.k_of_n(v.votes.k, v.votes.n) if v.votes else "no vote was taken"


def _confirmations(v: Verdict) -> str:
    if v.confirmations is None:
        return "none needed"
    return wording.k_of_n(v.confirmations.seen, v.confirmations.needed)


def _replay(v: Verdict) -> str:
    if v.replay_mode is None:
        return ""
    shape = " × ".join(str(size) for size in v.replay_shape or ())
    return f"{v.replay_mode} {shape}".strip()


def _next(v: Verdict) -> str:
    if v.action is Action.REPLACE_HOST and not v.blamed:
        return "Trust none of this group's machines until one of them is named."
    return _NEXT[v.action]


def _closed(closed: IncidentClosed | None) -> str:
    if closed is None:
        return ""
    where = "" if closed.step is None else f" at step {closed.step}"
    return f"Closed{where}: {closed.why}"


def _judged(results: Results | None, verdict_id: str) -> str:
    if results is None:
        return ""
    if any(verdict_id == extra.verdict_id for extra in results.extras):
        return "extra"
    matched: Iterable[str | None] = (i.verdict_id for i in results.incidents)
    return "expected" if verdict_id in matched else ""
