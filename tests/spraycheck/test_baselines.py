"""The baselines: same interface as SprayCheck, and the mistakes that they make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spraycheck.baselines import PortPair, counter_pairs, fixed_deviation
from spraycheck.errors import CountError
from spraycheck.localize import BlamedLink, Localization
from spraycheck.ztest import judge, sensitivity
from vocab.names import Direction, Link

LINK = Link(0, 1, Direction.UP)


def test_a_port_fails_at_the_fixed_share_whatever_the_size() -> None:
    assert fixed_deviation((9_899, 10_101), 20_000).failed == (0,)
    assert fixed_deviation((9_900, 10_100), 20_000).failed == ()
    assert fixed_deviation((98_990, 101_010), 200_000, spines=(3, 5)).failed == (3,)


def test_small_flows_make_it_cry_wolf_and_large_ones_make_it_dull() -> None:
    # 200 healthy flows of 1,000 packets a spine, seed 1: sd 3 % of lambda.
    small = np.random.default_rng(1).multinomial(8_000, [1 / 8] * 8, size=200).tolist()
    s = sensitivity(0.001, 7 / 8, 8)
    assert all(fixed_deviation(row, 8_000).failed for row in small)
    assert sum(bool(judge(row, 8_000, s).failed) for row in small) <= 3
    # A path that drops 0.5 % of a million packets: five standard deviations.
    large = (995_000, *[1_000_000 + 714] * 6, 1_000_716)
    assert fixed_deviation(large, 8_000_000).failed == ()
    assert judge(large, 8_000_000, s).failed == (0,)


def test_counter_pairs_name_the_link_that_loses() -> None:
    honest = PortPair(link=Link(1, 1, Direction.DOWN), num_sent=10, num_received=10)
    lossy = PortPair(link=LINK, num_sent=1_000, num_received=990)
    blamed = BlamedLink(link=LINK, decisive=(), failing=(), num_measured=0)
    assert counter_pairs([honest, lossy]) == Localization(links=(blamed,))
    assert counter_pairs([honest, lossy], tolerance_frac=0.02) == Localization()


def test_counter_pairs_are_blind_to_a_loss_behind_the_counter() -> None:
    """A gray failure: the port counts what it never sends, or what it then drops."""
    gray = PortPair(link=LINK, num_sent=990, num_received=990)
    assert counter_pairs([gray]) == Localization()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fixed_deviation((1, 1), 2, deviation_frac=0), "deviation_frac is 0"),
        (lambda: fixed_deviation((), 2), "0 counts; allowed: 2 or more"),
        (lambda: fixed_deviation((1, 5), 4), "count of spine1 is 5; allowed: 0..4"),
        (
            lambda: counter_pairs([PortPair(link=LINK, num_sent=1, num_received=2)]),
            "received 2 packets; allowed: 0..1",
        ),
        (
            lambda: counter_pairs(
                [PortPair(link=Link(0, 1), num_sent=1, num_received=1)]
            ),
            "leaf0-spine1 has no direction",
        ),
    ],
)
def test_impossible_counters_are_a_named_error(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(CountError, match=message):
        call()
