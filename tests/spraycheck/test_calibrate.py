"""Calibration: closed forms of random spraying, scipy's numbers, and honest limits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spraycheck.calibrate import (
    Key,
    MinimumPackets,
    SizeSample,
    calibrate,
    minimum_packets,
    roc,
)
from spraycheck.errors import CalibrationError
from spraycheck.ztest import judge, sensitivity

KEY = Key(policy="random", num_spines=8, load=0.5, burst_pkts=1)
N = 80_000


def healthy(flows: int, seed: int, number: int = N, k: int = 8) -> Any:
    return np.random.default_rng(seed).multinomial(number, [1 / k] * k, size=flows)


def failing(flows: int, seed: int, drop: float, number: int = N, k: int = 8) -> Any:
    """Lost packets are sprayed again until they arrive; spine 0 is the lossy one."""
    share = np.full(k, 1.0)
    share[0] -= drop
    return np.random.default_rng(seed).multinomial(
        number, share / share.sum(), size=flows
    )


def test_random_spraying_gives_the_normal_quantile() -> None:
    # 20,000 flows, seed 3: the empirical 1 % quantile of s has a sd of about 0.013.
    found = calibrate(healthy(20_000, 3), N, key=KEY, false_alarm=0.01)
    assert found.sensitivity == pytest.approx(sensitivity(0.01, 7 / 8, 8), abs=0.05)
    assert found.variance_ratio == pytest.approx(7 / 8, rel=0.02)
    assert found.false_alarm.k <= 200


def test_the_interval_says_whether_the_rate_is_proven() -> None:
    counts = healthy(1_000, 4)
    assert not calibrate(counts, N, key=KEY, false_alarm=0.001).is_proven
    # One alarm allowed of 50 flows, none occurs where s is the largest deficit.
    none = calibrate(counts[:50], N, key=KEY, false_alarm=0.02)
    assert none.false_alarm.k == 1
    interval = stats.binomtest(1, 50).proportion_ci(0.95, "wilson")
    assert none.false_alarm.high == pytest.approx(interval.high)


@given(
    st.integers(0, 2**32 - 1), st.integers(100, 300), st.sampled_from([0.01, 0.05, 0.1])
)
def test_the_calibrated_s_keeps_the_rate_on_its_own_sample(
    seed: int, flows: int, wanted: float
) -> None:
    counts = healthy(flows, seed, 1_000)
    found = calibrate(counts, 1_000, key=KEY, false_alarm=wanted)
    alarms = sum(
        bool(judge(row.tolist(), 1_000, found.sensitivity).failed) for row in counts
    )
    assert alarms == found.false_alarm.k <= wanted * flows


def test_the_roc_curve_is_that_of_trying_every_s() -> None:
    good, bad = healthy(60, 5), failing(60, 6, 0.02)
    curve = roc(good, bad, N, 0)
    for point in curve.points:
        s = point.sensitivity
        alarms = sum(bool(judge(row.tolist(), N, s + 1e-9).failed) for row in good)
        found = sum(0 in judge(row.tolist(), N, s + 1e-9).failed for row in bad)
        assert (point.false_positive.k, point.true_positive.k) == (alarms, found)
    rates = [(p.false_positive.k, p.true_positive.k) for p in curve.points]
    assert rates == sorted(rates)
    d_good, d_bad = good.min(axis=1), bad[:, 0]
    reference = stats.mannwhitneyu(-d_bad, -d_good).statistic / (60 * 60)
    assert curve.area == pytest.approx(reference)


def test_samples_far_apart_are_separated_by_a_range_of_s() -> None:
    curve = roc(healthy(50, 7), failing(50, 8, 0.2), N, 0)
    assert curve.area == 1.0
    assert curve.perfect_from is not None
    assert curve.perfect_to is not None
    middle = (curve.perfect_from + curve.perfect_to) / 2
    assert not any(judge(row.tolist(), N, middle).failed for row in healthy(50, 7))


def test_samples_alike_are_separated_by_none() -> None:
    curve = roc(healthy(200, 9), healthy(200, 10), N, 0)
    assert curve.perfect_from is None
    assert curve.area < 0.5  # one spine's deficit against the largest of eight


def test_p_min_is_the_size_from_which_on_nothing_is_wrong() -> None:
    samples = [
        SizeSample(
            num_packets=8 * size,
            healthy=healthy(20, seed, 8 * size),
            failing=failing(20, seed + 100, 0.02, 8 * size),
            failed_spine=0,
        )
        for seed, size in enumerate((1_000, 10_000, 200_000, 400_000))
    ]
    # Mean deficit p*sqrt(lambda)*(1 - 1/k): 0.6, 1.8, 7.8, 11; sd 0.94; s = 4.2.
    found = minimum_packets(samples, 4.2)
    assert found.packets_per_spine == 200_000
    assert [size.false_negative.k > 0 for size in found.sizes] == [
        True, True, False, False,
    ]  # fmt: skip
    assert minimum_packets(samples[:2], 4.2).packets_per_spine is None
    assert minimum_packets([], 4.2) == MinimumPackets(packets_per_spine=None, sizes=())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: calibrate(healthy(20, 0), N, key=KEY, false_alarm=0.01),
            "20 flows cannot show a false-alarm rate of 0.01; allowed: 100 or more",
        ),
        (
            lambda: calibrate(healthy(20, 0, k=4), N, key=KEY, false_alarm=0.1),
            r"shape \(20, 4\); allowed: \(flows, 8\)",
        ),
        (
            lambda: calibrate(healthy(20, 0), N, key=KEY, false_alarm=0.0),
            "false_alarm is 0.0",
        ),
        (lambda: roc([[1.5, 2]], [[1, 2]], 3, 0), "whole numbers"),
        (lambda: roc([[1, 2]], [[1, -2]], 3, 0), "0 or more"),
        (lambda: roc([[1, 2]], [[1, 2]], 1, 0), "num_packets is 1; allowed: 2"),
        (lambda: roc([], [[1, 2]], 3, 0), "counts have shape"),
    ],
)
def test_impossible_samples_are_a_named_error(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(CalibrationError, match=message):
        call()


def test_the_published_sizes_separate_the_published_rates_for_quiet_spraying() -> None:
    """FACTS: P_min 60K (0.5 %), 20K (1 %), 7K (1.5 %) with one s between 0.4 and 0.7.

    Counts with v = 0.03^2, what JSQ(2) shows at full load; 20 flows each, seed 11.
    """
    source = np.random.default_rng(11)
    for size, drop in ((60_000, 0.005), (20_000, 0.01), (7_000, 0.015)):
        noise = source.normal(0, 0.03 * np.sqrt(size), (2, 20, 8))
        good = np.rint(size + noise[0]).astype(int)
        lossy = noise[1]
        lossy[:, 0] -= drop * size * 7 / 8
        bad = np.rint(size + lossy).astype(int)
        for s, counts in itertools.product((0.4, 0.7), (good, bad)):
            flagged = [judge(row.tolist(), 8 * size, s).failed for row in counts]
            assert flagged == [() if counts is good else (0,)] * 20
