"""Alg. 1: strict majority and robust outliers; values by hand or closed form."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scout.consensus import Status, exact, robust_scale, statistical

values = st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=9)
times = st.lists(st.one_of(st.none(), st.floats(1e-6, 1e3)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("given_values", "status", "bitmap", "k"),
    [
        ([7, 7, 7, 7], Status.AGREE, "0000", 4),
        ([7, 7, 9, 7], Status.ATTRIBUTED, "0010", 3),
        ([7, 8, 9, 7, 7], Status.ATTRIBUTED, "01100", 3),
        ([7, 9], Status.INCONCLUSIVE, "00", 1),
        ([7, 7, 9, 9], Status.INCONCLUSIVE, "0000", 2),
        ([7, 8, 9], Status.INCONCLUSIVE, "000", 1),
        ([7, 7, None, 7], Status.INCOMPLETE, "00?0", 3),
        ([7, 7, None, 9, 7], Status.ATTRIBUTED, "00?10", 3),
        ([7, 7, None, 9], Status.INCONCLUSIVE, "00?0", 2),
        ([None, None], Status.INCOMPLETE, "??", 0),
        ([7], Status.AGREE, "0", 1),
    ],
)
def test_exact_consensus_table(
    given_values: list[int | None], status: Status, bitmap: str, k: int
) -> None:
    result = exact(given_values)
    found = (result.status, result.bitmap, result.k, result.n)
    assert found == (status, bitmap, k, len(given_values))


@given(values)
def test_nobody_is_named_without_a_strict_majority_of_all_peers(
    given_values: list[int | None],
) -> None:
    result = exact(given_values)
    counts = Counter(v for v in given_values if v is not None)
    most = max(counts.values(), default=0)
    if 2 * most <= len(given_values):
        assert not any(result.outliers)
    for value, outlier in zip(given_values, result.outliers, strict=True):
        if outlier:
            assert value is not None
            assert counts[value] < most


@given(values, st.randoms())
def test_exact_consensus_follows_a_permutation_of_the_peers(
    given_values: list[int | None], source: random.Random
) -> None:
    order = list(range(len(given_values)))
    source.shuffle(order)
    straight = exact(given_values)
    shuffled = exact([given_values[i] for i in order])
    assert shuffled.bitmap == "".join(straight.bitmap[i] for i in order)


@given(values)
def test_a_missing_peer_is_never_agreeing_and_never_blamed(
    given_values: list[int | None],
) -> None:
    result = exact(given_values)
    assert all(
        mark == "?" for mark, v in zip(result.bitmap, given_values, strict=True)
        if v is None
    )  # fmt: skip
    if None in given_values:
        assert result.status is not Status.AGREE


@pytest.mark.parametrize("kappa", [3.0, 5.0, 8.0, 20.0])
@pytest.mark.parametrize("num_healthy", [2, 3, 4, 7, 15])
def test_one_slow_among_equal_peers_is_named_at_any_delay(
    kappa: float, num_healthy: int
) -> None:
    for delay in (1e-3, 0.25, 1e6):
        result = statistical([1.0] * num_healthy + [1.0 + delay], kappa)
        assert result.status is Status.ATTRIBUTED
        assert result.bitmap == "0" * num_healthy + "1"


def test_scale_is_the_gaussian_sigma_where_there_is_noise() -> None:
    # closed form: MAD of [1, 2, 3, 4, 100] is 1, times 1.4826
    assert robust_scale([1, 2, 3, 4, 100], 3, 5.0) == (1.4826, "mad")


def test_iqr_is_used_from_eight_peers_only() -> None:
    few = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    many = [1.0] * 6 + [2.0, 2.0, 2.0]
    assert robust_scale(few, 1.0, 5.0)[1] == "range"
    assert robust_scale(many, 1.0, 5.0)[1] == "iqr"


def test_identical_timings_agree_with_scale_zero() -> None:
    result = statistical([2.5, 2.5, 2.5], 5.0)
    assert (result.status, result.scale, result.scale_from) == (Status.AGREE, 0, "none")


def test_two_peers_never_name_one() -> None:
    assert statistical([1.0, 100.0], 5.0).bitmap == "00"


@given(times, st.floats(1.5, 20))
def test_named_timings_leave_a_strict_majority_of_all_peers(
    given_times: list[float | None], kappa: float
) -> None:
    result = statistical(given_times, kappa)
    if any(result.outliers):
        assert 2 * result.k > len(given_times)
    for value, outlier in zip(given_times, result.outliers, strict=True):
        assert not (value is None and outlier)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=9), st.randoms())
def test_statistical_consensus_follows_a_permutation(
    given_times: list[float], source: random.Random
) -> None:
    order = list(range(len(given_times)))
    source.shuffle(order)
    straight = statistical(list(given_times), 5.0)
    shuffled = statistical([given_times[i] for i in order], 5.0)
    assert shuffled.bitmap == "".join(straight.bitmap[i] for i in order)


def test_raw_false_outliers_on_gaussian_noise_are_rare_at_the_default_kappa() -> None:
    # 2,000 rounds of 8 healthy peers, seed 1: at kappa 5 the scaled MAD marks a peer in
    # under 8 % of rounds (the reference without 1.4826 and at kappa 3: 20-50 %, FACTS);
    # the floors and the second boundary are on top of this.
    source = random.Random(1)
    marked = sum(
        statistical([source.gauss(1, 0.05) for _ in range(8)], 5.0).status
        is Status.ATTRIBUTED
        for _ in range(2000)
    )
    assert marked / 2000 < 0.08


def test_nonsense_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="consensus of no peers"):
        exact([])
    with pytest.raises(ValueError, match="kappa is 0; allowed: above 0"):
        statistical([1.0], 0)
