"""Criteria: met, failed, or open because the interval reaches across the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.criteria import Limit, Ruling, Share, at_least, at_most, overall

PASS, FAIL, OPEN = Ruling.PASS, Ruling.FAIL, Ruling.INCONCLUSIVE
shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("interval", "by", "ruling"),
    [
        ((0.95, 0.92, 0.99), "interval", PASS),
        ((0.95, 0.85, 0.99), "interval", OPEN),
        ((0.80, 0.70, 0.88), "interval", FAIL),
        ((0.80, 0.70, 0.95), "interval", OPEN),
        ((0.95, 0.20, 1.00), "estimate", PASS),
        ((0.89, 0.20, 1.00), "estimate", FAIL),
        ((None, None, None), "interval", OPEN),
        ((None, None, None), "estimate", OPEN),
        ((0.95, None, None), "interval", OPEN),
    ],
)
def test_a_share_is_held_against_its_whole_interval_or_against_its_figure(
    interval: tuple[float | None, float | None, float | None], by: str, ruling: Ruling
) -> None:
    limit = Share(at_least=0.9, by=by)  # type: ignore[arg-type]
    assert at_least(limit, *interval) is ruling


@given(ends=st.tuples(shares, shares, shares), limit=shares)
def test_a_lower_limit_is_an_upper_one_of_the_complement(
    ends: tuple[float, float, float], limit: float
) -> None:
    low, value, high = sorted(ends)
    reached = at_least(Share(at_least=limit), value, low, high)
    # Doubles of the complement are exact for these comparisons only on a coarse grid.
    low, value, high, limit = (round(1024 * x) for x in (low, value, high, limit))
    kept = at_most(Limit(at_most=1024 - limit), 1024 - value, 1024 - high, 1024 - low)
    coarse = at_least(Share(at_least=limit / 1024), value / 1024, low / 1024,
                      high / 1024)  # fmt: skip
    assert kept is coarse
    assert reached in Ruling


@given(st.lists(st.sampled_from(Ruling)))
def test_the_whole_is_as_bad_as_its_worst_part(rulings: list[Ruling]) -> None:
    found = overall(rulings)
    if FAIL in rulings:
        assert found is FAIL
    else:
        assert (found is PASS) == (set(rulings) == {PASS})
