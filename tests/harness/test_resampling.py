"""Bootstrap intervals: cover what they should, and say nothing of a single case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.resampling import quantile, ratio

times = st.lists(st.floats(0.001, 1000), min_size=2, max_size=30)


@given(values=times, q=st.floats(0, 1), seed=st.integers(0, 99))
def test_the_order_of_the_cases_is_of_no_matter(
    values: list[float], q: float, seed: int
) -> None:
    found = quantile(values, q)
    shuffled = list(np.random.default_rng(seed).permutation(values))
    assert quantile(shuffled, q) == found
    assert found.low is not None
    assert found.high is not None
    assert min(values) <= found.low <= found.high <= max(values)


@given(pairs=st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10)), min_size=2,
                      max_size=30))  # fmt: skip
def test_a_ratio_lies_between_the_smallest_and_the_largest_of_its_cases(
    pairs: list[tuple[float, float]],
) -> None:
    found = ratio([a for a, _ in pairs], [b for _, b in pairs])
    each = [a / b for a, b in pairs]
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert min(each) - 1e-9 <= found.low <= found.high <= max(each) + 1e-9


def test_intervals_of_a_median_cover_it_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        found = quantile(list(rng.exponential(size=40)), 0.5)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= np.log(2) <= found.high  # the true median
    # 95 % of 200 is 190; below 176 lies four standard deviations of it.
    assert covered >= 176


def test_one_case_has_a_value_and_no_interval_and_none_has_neither() -> None:
    one, none = quantile([2.5], 0.9), quantile([], 0.9)
    assert (one.n, one.value, one.low, one.high) == (1, 2.5, None, None)
    assert (none.n, none.value, none.low, none.high) == (0, None, None, None)
    assert ratio([], []).value is None


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="q is 1.5; allowed: 0 to 1"):
        quantile([1.0], 1.5)
    with pytest.raises(ValueError, match="1 parts and 2 wholes"):
        ratio([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="every whole above 0"):
        ratio([1.0], [0.0])
