"""Floors and distinct boundaries: what makes a raw outlier a straggler."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scout.config import ScoutConfig
from scout.confirm import Confirmer, Slow, judge
from scout.consensus import Status

CONFIG = ScoutConfig()


def slow(peer: int, surface: str) -> Slow:
    return Slow(peer=peer, surface=surface, value_s=0.3, threshold_s=0.03,
                median_s=0.01)  # fmt: skip


def test_a_straggler_of_250_ms_is_over_every_floor() -> None:
    judged = judge("a", (0.003, 0.003, 0.253, 0.004), CONFIG)
    assert [item.peer for item in judged.slow] == [2]
    assert judged.result.status is Status.ATTRIBUTED


def test_an_outlier_below_a_floor_is_no_straggler() -> None:
    assert judge("a", (0.0010, 0.0010, 0.0010, 0.0190), CONFIG).slow == ()  # < 20 ms
    assert judge("a", (1.0, 1.0, 1.0, 1.4), CONFIG).slow == ()  # < 50 %


def test_a_quick_peer_is_no_straggler() -> None:
    assert judge("a", (1.0, 1.0, 0.01, 1.0), CONFIG).slow == ()


def test_two_peers_differ_but_nobody_is_named() -> None:
    judged = judge("a", (0.003, 0.253), CONFIG)
    assert judged.slow == ()
    assert judged.result.status is Status.INCONCLUSIVE


def test_a_straggler_is_named_although_a_peer_is_missing() -> None:
    judged = judge("a", (0.003, None, 0.253, 0.004, 0.003), CONFIG)
    assert [item.peer for item in judged.slow] == [2]


@given(st.lists(st.floats(0.001, 1.0), min_size=3, max_size=8))
def test_who_is_slow_is_always_over_the_threshold_and_a_minority(
    charged: list[float],
) -> None:
    judged = judge("a", tuple(charged), CONFIG)
    assert 2 * len(judged.slow) < len(charged)
    for item in judged.slow:
        assert item.value_s > item.threshold_s >= item.median_s + CONFIG.floor_abs_s


def test_one_boundary_confirms_nothing_however_often_it_is_fed() -> None:
    confirmer = Confirmer(config=CONFIG)
    for _ in range(5):
        assert confirmer.on_check(8, ["a"], [slow(1, "a")]) == []


def test_the_same_peer_at_two_boundaries_is_confirmed() -> None:
    confirmer = Confirmer(config=CONFIG)
    assert confirmer.on_check(8, ["a"], [slow(1, "a")]) == []
    (found,) = confirmer.on_check(10, ["a"], [slow(1, "a")])
    assert (found.slow.peer, found.boundaries) == (1, (8, 10))


def test_another_peer_confirms_nothing() -> None:
    confirmer = Confirmer(config=CONFIG)
    confirmer.on_check(8, ["a"], [slow(1, "a")])
    assert confirmer.on_check(10, ["a"], [slow(2, "a")]) == []


def test_rotation_away_from_the_slow_layer_does_not_forget_it() -> None:
    confirmer = Confirmer(config=CONFIG)
    confirmer.on_check(2, ["a"], [slow(1, "a")])
    assert confirmer.on_check(4, ["b"], []) == []
    (found,) = confirmer.on_check(6, ["a"], [slow(1, "a")])
    assert found.boundaries == (2, 6)


def test_a_healthy_measurement_of_the_same_layer_forgets_it() -> None:
    confirmer = Confirmer(config=CONFIG)
    confirmer.on_check(2, ["a"], [slow(1, "a")])
    confirmer.on_check(4, ["a"], [])
    assert confirmer.on_check(6, ["a"], [slow(1, "a")]) == []


def test_a_rank_slow_in_every_layer_is_confirmed_at_the_next_check() -> None:
    confirmer = Confirmer(config=CONFIG)
    confirmer.on_check(2, ["a"], [slow(1, "a")])
    (found,) = confirmer.on_check(4, ["b"], [slow(1, "b")])
    assert (found.slow.surface, found.boundaries) == ("b", (2, 4))


def test_more_confirmations_can_be_asked_for() -> None:
    confirmer = Confirmer(config=ScoutConfig(confirmations=3))
    assert confirmer.on_check(2, ["a"], [slow(1, "a")]) == []
    assert confirmer.on_check(4, ["a"], [slow(1, "a")]) == []
    assert len(confirmer.on_check(6, ["a"], [slow(1, "a")])) == 1
