"""The card of a run without a verdict: why nobody is blamed, and what is needed. Pure.

Called by `run` when no detector has spoken. "Healthy" is said only of what was compared
and found equal: a run whose checks are incomplete, switched off or not there yet has
its own words (DESIGN sec. 2.5).
"""

from __future__ import annotations

from harness.views import wording
from harness.views.cards import StatisticView, VerdictCard, statistic_view
from harness.views.source import RunFacts
from vocab.events import CheckCompleted, DetectorDisabled
from vocab.verdict import Action, Kind, Scope, State, Statistic


def nobody_card(facts: RunFacts, *, is_final: bool) -> VerdictCard:
    """What can be said while no detector has issued a verdict."""
    checks = [e.event for e in facts.events if isinstance(e.event, CheckCompleted)]
    complete = [c for c in checks if c.problem is None and not c.missing]
    state = State.HEALTHY if complete else State.INCOMPLETE_DATA
    last = checks[-1] if checks else None
    nearest = nearest_statistic(checks)
    return VerdictCard(
        verdict_id="",
        detector="",
        kind=Kind.NONE,
        state=state,
        scope=Scope.PROCESS_GROUP,
        who=wording.NOBODY,
        headline=_headline(state, is_final=is_final),
        why=_why(facts, checks, complete, is_final=is_final),
        votes_text=_votes(complete),
        confirmations_text="none needed",
        statistic=nearest,
        next_action=Action.CONTINUE,
        next_text=_next(state, is_final=is_final),
        needed=_needed(facts, checks, nearest),
        reason_code="no_verdict",
        group=last.group if last else "",
        group_ranks=last.group_ranks if last else (),
        step=last.step if last else None,
        missing=_missing(checks),
        at_s=None,
        at_text=wording.ABSENT,
    )


def nearest_statistic(checks: list[CheckCompleted]) -> StatisticView | None:
    """The timing that came closest to its threshold over all checks."""
    best: tuple[float, Statistic] | None = None
    for check in checks:
        for timing in check.timings:
            s = timing.statistic
            if s is None or s.value is None or not s.threshold:
                continue
            if best is None or s.value / s.threshold > best[0]:
                best = (s.value / s.threshold, s)
    return statistic_view(best[1]) if best else None


def _headline(state: State, *, is_final: bool) -> str:
    if state is State.HEALTHY:
        return "Nobody is blamed" if is_final else "Nobody is blamed so far"
    return "Nothing can be said" if is_final else "Nothing can be said yet"


def _why(
    facts: RunFacts,
    checks: list[CheckCompleted],
    complete: list[CheckCompleted],
    *,
    is_final: bool,
) -> str:
    if facts.scenario is not None and facts.scenario.scout == "off":
        return "SCOUT is off in this scenario: nobody compares."
    off = [e.event for e in facts.events if isinstance(e.event, DetectorDisabled)]
    if not complete:
        if off:
            return wording.sentence(f"{off[0].component} is off: {off[0].reason}")
        if checks:
            problem = checks[-1].problem or "ranks were missing"
            return f"No check is complete: {problem}."
        return f"No check has been completed{'' if is_final else ' yet'}."
    surfaces = [surface for check in complete for surface in check.surfaces]
    agreeing = sum(surface.k == surface.n for surface in surfaces)
    done = wording.count(len(complete), "complete check")
    text = (
        f"All peers agree on {wording.k_of_n(agreeing, len(surfaces))} "
        f"compared surfaces in {done}"
    )
    if len(checks) > len(complete):
        text += f", {len(checks) - len(complete)} more could not be completed"
    return f"{text}."


def _votes(complete: list[CheckCompleted]) -> str:
    surfaces = [s for check in complete for s in check.surfaces]
    if not surfaces:
        return "no vote was taken"
    worst = min(surfaces, key=lambda s: s.k / s.n)
    return wording.k_of_n(worst.k, worst.n)


def _next(state: State, *, is_final: bool) -> str:
    if not is_final:
        return "Wait: the run goes on."
    if state is State.HEALTHY:
        return "Continue: nothing to repair."
    return "Look at the problems below, then run it again."


def _needed(
    facts: RunFacts, checks: list[CheckCompleted], nearest: StatisticView | None
) -> str:
    if not checks:
        return "To name somebody, at least one complete check is needed."
    n = len(checks[-1].group_ranks)
    if n < 3:
        return (
            f"To name somebody, a group of 3 or more is needed; {checks[-1].group} "
            f"has {n}."
        )
    text = (
        f"To name somebody, at least {n // 2 + 1} of {n} peers must agree "
        "and another must differ"
    )
    if nearest is not None:
        text += f", or a timing must pass {nearest.threshold_text} and be confirmed"
    return f"{text}."


def _missing(checks: list[CheckCompleted]) -> tuple[str, ...]:
    return tuple(
        f"rank{rank}" for rank in sorted({r for c in checks for r in c.missing})
    )
