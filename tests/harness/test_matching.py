"""Verdicts are matched to expectations one to one, and as many as possible."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.matching import effective, in_window, match, says_the_same, targets_of
from harness.scenario import Expectation
from tests.harness.played import verdict
from vocab.verdict import Verdict


def expected(first: int, last: int, *ranks: int) -> Expectation:
    fields: dict[str, Any] = {"kind": "sdc", "ranks": ranks or (2,)}
    return Expectation(from_step=first, by_step=last, **fields)


def test_a_verdict_takes_the_window_that_closes_first() -> None:
    found = match(
        [expected(1, 9), expected(1, 4)],
        [verdict("sdc", 2, step=3), verdict("sdc", 2, step=8, name="v2")],
    )
    assert (found.answers, found.extras) == ((1, 0), ())


def test_two_verdicts_do_not_answer_one_expectation() -> None:
    found = match(
        [expected(1, 9)],
        [verdict("sdc", 2, step=7), verdict("sdc", 2, step=3, name="v2")],
    )
    assert (found.answers, found.extras) == ((1,), (0,))


def test_the_order_of_names_does_not_matter() -> None:
    wanted = expected(1, 9, 3, 1)
    assert targets_of(wanted) == ("rank1", "rank3")
    assert says_the_same(wanted, verdict("sdc", 3, 1))
    assert not says_the_same(wanted, verdict("sdc", 3))


def test_a_chain_of_refinements_leaves_the_last() -> None:
    chain = [
        verdict("sdc", state="inconclusive", name="a"),
        verdict("sdc", state="group_scoped", name="b", supersedes="a"),
        verdict("sdc", 2, name="c", supersedes="b"),
        verdict("sdc", 2, name="d", supersedes="c"),
    ]
    assert [item.verdict_id for item in effective(chain)] == ["d"]


_WINDOWS = st.tuples(st.integers(1, 9), st.integers(0, 5)).map(
    lambda pair: expected(pair[0], pair[0] + pair[1])
)
_VERDICTS = st.one_of(st.none(), st.integers(1, 12)).map(
    lambda step: verdict("sdc", 2, step=step)
)


def most(expect: list[Expectation], verdicts: list[Verdict]) -> int:
    """The best number of pairs, by trying all."""
    padded = [*verdicts, *([None] * len(expect))]
    return max(
        sum(
            found is not None and in_window(wanted, found)
            for wanted, found in zip(expect, chosen, strict=True)
        )
        for chosen in permutations(padded, len(expect))
    )


@given(expect=st.lists(_WINDOWS, max_size=4), verdicts=st.lists(_VERDICTS, max_size=3))
def test_as_many_as_possible_are_answered_and_none_twice(
    expect: list[Expectation], verdicts: list[Verdict]
) -> None:
    found = match(expect, verdicts)
    taken = [index for index in found.answers if index is not None]
    assert len(taken) == most(expect, verdicts)
    assert sorted([*taken, *found.extras]) == list(range(len(verdicts)))
    for wanted, index in zip(expect, found.answers, strict=True):
        assert index is None or in_window(wanted, verdicts[index])
