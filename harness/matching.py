"""Which verdict answers which expected incident: exact sets, windows, one to one. Pure.

Called by `checks`. A verdict answers an expectation when kind, state, the exact set of
blamed names, and scope, heading and suspects where they are given, are equal and its
step lies in the window. Nothing is forgiven: what
answers nothing is an extra, whatever it says beside the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.scenario import Expectation
from vocab.names import rank_name, spine_name
from vocab.verdict import State, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Positions: `answers[i]` is the verdict that answers expectation i, or None."""

    answers: tuple[int | None, ...]
    extras: tuple[int, ...]  # verdicts that answer nothing


def match(expect: Sequence[Expectation], verdicts: Sequence[Verdict]) -> Matching:
    """Pair them so that as many expectations as possible are answered.

    By rising step, each verdict takes the open window that closes first: for points and
    intervals that is optimal.
    """
    answers: list[int | None] = [None] * len(expect)
    extras: list[int] = []
    by_step = sorted(
        range(len(verdicts)),
        key=lambda index: (_step_or_last(verdicts[index]), verdicts[index].at_ns),
    )
    for index in by_step:
        fitting = [
            place
            for place, expected in enumerate(expect)
            if answers[place] is None
            and says_the_same(expected, verdicts[index])
            and in_window(expected, verdicts[index])
        ]
        if fitting:
            answers[min(fitting, key=lambda place: expect[place].by_step)] = index
        else:
            extras.append(index)
    return Matching(answers=tuple(answers), extras=tuple(sorted(extras)))


def effective(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts that stand: without healthy ones and without what was refined since.

    A superseded verdict that named somebody still stands unless the new one names the
    very same: an accusation cannot be taken back.
    """
    newer = {verdict.supersedes: verdict for verdict in verdicts if verdict.supersedes}
    return [
        verdict
        for verdict in verdicts
        if verdict.state is not State.HEALTHY and not _is_refined(verdict, newer)
    ]


def targets_of(expected: Expectation) -> tuple[str, ...]:
    """Names that must be blamed, exactly."""
    return (
        *(rank_name(rank) for rank in sorted(expected.ranks)),
        *expected.links,
        *(spine_name(spine) for spine in sorted(expected.spines)),
    )


def says_the_same(expected: Expectation, verdict: Verdict) -> bool:
    """Whether kind, state, scope, heading and the sets of names are equal."""
    return (
        verdict.kind is expected.kind
        and verdict.state is expected.state
        and expected.scope in (None, verdict.scope)
        and expected.heading in (None, verdict.heading)
        and set(verdict.blamed) == set(targets_of(expected))
        and (not expected.suspects or set(verdict.suspects) == set(expected.suspects))
    )


def in_window(expected: Expectation, verdict: Verdict) -> bool:
    """Whether the verdict's step lies in the window; no step lies nowhere."""
    step = verdict.step
    return step is not None and expected.from_step <= step <= expected.by_step


def _is_refined(verdict: Verdict, newer: dict[str, Verdict]) -> bool:
    successor = newer.get(verdict.verdict_id)
    if successor is None:
        return False
    return not verdict.blamed or set(verdict.blamed) == set(successor.blamed)


def _step_or_last(verdict: Verdict) -> float:
    return float("inf") if verdict.step is None else verdict.step
