"""A group against its own past: told when all wait, never by who waits longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scout.config import ScoutConfig
from scout.decide import CheckDecider
from scout.group_slowdown import SURFACE, GroupSlow, GroupSlowdown
from tests.scout.test_decide import check, timing
from vocab.events import CheckCompleted, IncidentClosed
from vocab.verdict import Action, Kind, Scope, State, Verdict

CONFIG = ScoutConfig(replay_every=2, floor_group_s=0.1, close_after=1)
QUICK, SLOW = (0.004, 0.006, 0.005, 0.030), (0.81, 0.80, 0.84, 0.83)


def found_in(
    rounds: Sequence[Sequence[float | None]], explained: tuple[int, ...] = ()
) -> list[GroupSlow | None]:
    rule = GroupSlowdown(config=CONFIG)
    return [
        rule.on_check(2 * (i + 1), waits, is_explained=i in explained)
        for i, waits in enumerate(rounds)
    ]


def test_two_slow_checks_after_clean_ones_are_a_slow_group() -> None:
    *before, last = found_in([(0.0, 0.1, 0.1, 0.3)] * 3 + [SLOW] * 2)
    assert before == [None] * 4
    assert last == GroupSlow(
        least_s=0.80, threshold_s=0.2, median_s=0.0, boundaries=(8, 10)
    )


def test_who_comes_late_leaves_a_short_wait_and_no_slow_group() -> None:
    late = (0.9, 0.9, 0.01, 0.9)
    assert found_in([QUICK] * 3 + [late] * 4) == [None] * 7


def test_one_slow_check_a_slow_peer_or_a_missing_one_confirm_nothing() -> None:
    assert found_in([QUICK] * 3 + [SLOW, QUICK, SLOW, QUICK]) == [None] * 7
    assert found_in([QUICK] * 3 + [SLOW] * 3, explained=(3, 4, 5)) == [None] * 6
    assert found_in([QUICK] * 3 + [SLOW, (None, *SLOW[1:]), SLOW]) == [None] * 6


def test_without_clean_checks_before_there_is_no_reference() -> None:
    assert found_in([SLOW] * 8) == [None] * 8


@given(st.lists(st.floats(0, 0.19), min_size=4, max_size=40))
def test_waits_below_the_floor_are_never_a_slow_group(waits: list[float]) -> None:
    assert found_in([(wait,) * 4 for wait in waits]) == [None] * len(waits)


def with_waits(index: int, waits: tuple[float, ...]) -> CheckCompleted:
    made = check(index)
    return replace(made, timings=(*made.timings, timing(SURFACE, None, waits)))


def test_the_verdict_blames_nobody_is_told_once_and_closes() -> None:
    decider = CheckDecider(config=CONFIG)
    decisions = []
    for index, waits in enumerate([QUICK] * 3 + [SLOW] * 4 + [QUICK] * 2):
        decisions += decider.on_check(with_waits(index, waits), at_ns=index)
    verdict, closed = decisions
    assert isinstance(verdict, Verdict)
    assert (verdict.kind, verdict.state, verdict.scope, verdict.blamed) == (
        Kind.STRAGGLER, State.GROUP_SCOPED, Scope.PROCESS_GROUP, ()
    )  # fmt: skip
    assert (verdict.reason_code, verdict.action, verdict.step) == (
        "group_slowdown", Action.DIAGNOSE_FABRIC, 10
    )  # fmt: skip
    assert verdict.statistic is not None
    assert verdict.statistic.value == 0.80
    assert isinstance(closed, IncidentClosed)
    assert (closed.verdict_id, closed.step) == (verdict.verdict_id, 16)
