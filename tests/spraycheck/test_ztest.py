"""The z-test: closed forms, scipy's distributions, and seeded false-alarm rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spraycheck.errors import CountError
from spraycheck.ztest import (
    judge,
    packets_needed,
    packets_still_needed,
    sensitivity,
    smallest_drop,
    threshold,
)


def test_threshold_is_the_papers_formula() -> None:
    # lambda = 800000/8 = 100000, sqrt = 316.23; t = 100000 - 3*316.2278
    assert threshold(800_000, 8, 3.0) == pytest.approx(99_051.317, abs=1e-3)


def test_sensitivity_is_the_normal_quantile_over_all_spines() -> None:
    per_spine = 1 - (1 - 1e-3) ** (1 / 8)
    assert sensitivity(1e-3, 1.0, 8) == pytest.approx(-stats.norm.ppf(per_spine))
    assert sensitivity(1e-3, 0.25, 8) == pytest.approx(sensitivity(1e-3, 1.0, 8) / 2)


def test_p_values_are_those_of_scipy() -> None:
    result = judge((9_900, 10_000, 10_100, 10_000), 40_000, 3.0)
    expected = stats.norm.cdf([-1.0, 0.0, 1.0, 0.0])
    assert [s.p_value for s in result.spines] == pytest.approx(list(expected))


def test_a_lossy_spine_fails_and_the_others_do_not() -> None:
    result = judge((9_500, 10_200, 10_150, 10_150), 40_000, 3.0)
    assert result.failed == (0,)
    assert result.threshold == pytest.approx(9_700.0)


def test_random_spraying_of_healthy_flows_keeps_the_wanted_false_alarm_rate() -> None:
    # 20,000 flows over 8 spines, seed 1: wanted 1 %; three sigma of that is 0.21 %.
    source = np.random.default_rng(1)
    s = sensitivity(0.01, 1 - 1 / 8, 8)
    counts = source.multinomial(80_000, [1 / 8] * 8, size=20_000)
    alarms = (counts < threshold(80_000, 8, s)).any(axis=1).mean()
    assert alarms == pytest.approx(0.01, abs=0.0021)


@given(st.floats(1e-4, 0.5), st.integers(2, 128), st.floats(0.1, 6))
def test_the_smallest_drop_and_the_packets_needed_are_inverse(
    drop: float, spines: int, s: float
) -> None:
    needed = packets_needed(drop, spines, s)
    assert smallest_drop(needed, spines, s) <= drop * (1 + 1e-6)


@given(
    st.lists(st.integers(0, 10_000), min_size=2, max_size=16), st.floats(0, 6),
)  # fmt: skip
def test_who_fails_is_exactly_who_is_below_the_threshold(
    counts: list[int], s: float
) -> None:
    total = max(sum(counts), len(counts))
    result = judge(counts, total, s)
    limit = max(0.0, total / len(counts) - s * math.sqrt(total / len(counts)))
    assert result.failed == tuple(i for i, c in enumerate(counts) if c < limit)


def test_margins_and_numbers_are_those_of_the_usable_spines() -> None:
    result = judge((9_500, 10_250, 10_250), 30_000, 3.0, spines=(0, 2, 5))
    assert result.failed == (0,)
    assert [(item.spine, item.margin) for item in result.spines] == [
        (0, pytest.approx(-200.0)),
        (2, pytest.approx(550.0)),
        (5, pytest.approx(550.0)),
    ]


def test_a_lossy_path_is_found_with_the_wanted_chance() -> None:
    # 4,000 flows, seed 2: 90 % wanted, three sigma of that is 1.4 %. Lost packets are
    # sprayed again until they arrive.
    source = np.random.default_rng(2)
    s = sensitivity(0.01, 1 - 1 / 8, 8)
    number = packets_needed(0.01, 8, s, power=0.9, variance_ratio=1 - 1 / 8)
    rate = (1 - 0.01) / (8 - 0.01)  # share of spine 0 among the packets that arrive
    counts = source.binomial(number, rate, size=4_000)
    found = (counts < threshold(number, 8, s)).mean()
    assert found == pytest.approx(0.9, abs=0.015)


def test_what_was_sent_counts_towards_what_is_needed() -> None:
    needed = packets_needed(0.01, 8, 3.0)
    assert packets_still_needed(needed - 5, 0.01, 8, 3.0) == 5
    assert packets_still_needed(needed + 5, 0.01, 8, 3.0) == 0


def test_a_flow_announced_too_long_is_inconsistent() -> None:
    sent = (10_000, 9_950, 10_050, 10_000)
    assert judge(sent, 40_000, 3.0).is_consistent
    for announced in (41_200, 44_000, 80_000):
        result = judge(sent, announced, 3.0)
        assert result.failed
        assert not result.is_consistent


@given(
    st.integers(3, 32), st.integers(1_000, 100_000), st.floats(0.05, 1), st.integers(1),
    st.floats(0.2, 4),
)  # fmt: skip
def test_real_loss_is_consistent(
    spines: int, share: int, drop: float, bad: int, s: float
) -> None:
    counts = [float(share)] * spines
    for index in range(bad % (spines - 1)):
        counts[index] *= 1 - drop
    total = spines * share
    counts = [count * total / sum(counts) for count in counts]
    assert judge([round(count) for count in counts], total, s).is_consistent


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: threshold(100, 1, 3.0), "num_spines is 1; allowed: 2 or more"),
        (lambda: threshold(100, 0, 3.0), "num_spines is 0; allowed: 2 or more"),
        (lambda: threshold(3, 4, 3.0), "num_packets is 3 over 4 spines"),
        (lambda: threshold(100, 4, -1.0), "s is -1.0; allowed: 0 or more"),
        (lambda: judge((5, 11), 10, 1.0), "count of spine1 is 11; allowed: 0..10"),
        (lambda: judge((5, -1), 10, 1.0), "count of spine1 is -1; allowed: 0..10"),
        (lambda: sensitivity(0.7, 1.0, 8), "false_alarm is 0.7"),
        (lambda: sensitivity(0.1, 0.0, 8), "variance_ratio is 0.0"),
        (lambda: packets_needed(0.0, 8, 3.0), "drop_frac is 0.0"),
        (lambda: packets_needed(0.1, 8, 3.0, power=1.0), "power is 1.0"),
        (lambda: threshold(100, 4, math.nan), "s is nan; allowed: 0 or more"),
        (lambda: judge((5, 5), 10, 1.0, variance_ratio=math.nan), "variance_ratio is"),
        (lambda: judge((5, 5), 10, 1.0, spines=(1,)), "2 counts for spines \\(1,\\)"),
    ],
)
def test_impossible_input_is_a_named_error(call: object, message: str) -> None:
    with pytest.raises(CountError, match=message):
        call()  # type: ignore[operator]
