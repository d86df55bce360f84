"""Wilson intervals: scipy's values, and what must hold for every count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from vocab.intervals import Rate, wilson

COUNTS = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts=COUNTS, confidence=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_the_interval_is_scipys(counts: tuple[int, int], confidence: float) -> None:
    k, n = counts
    rate = wilson(k, n, confidence)
    if n == 0:
        assert (rate.value, rate.low, rate.high) == (None, None, None)
        return
    wanted = binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert rate.low == pytest.approx(wanted.low, abs=1e-12)
    assert rate.high == pytest.approx(wanted.high, abs=1e-12)
    assert 0 <= rate.low <= k / n <= rate.high <= 1


def test_the_whole_of_a_perfect_score() -> None:
    rate = wilson(120, 120)
    assert rate == Rate(k=120, n=120, value=1.0, low=rate.low, high=1.0,
                        confidence=0.95)  # fmt: skip
    # z = 1.959964; n / (n + z^2), the closed form for k = n.
    assert rate.low == pytest.approx(120 / (120 + 1.959963984540054**2))


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=rf"k is {k} of n {n}; allowed: 0 <= k <= n"):
        wilson(k, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_an_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="allowed: above 0, below 1"):
        wilson(1, 2, confidence)
