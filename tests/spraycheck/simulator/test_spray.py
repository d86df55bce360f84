"""The noise of spraying is that of theory and of FACTS; P_min separates at load 0.98.

Random tests fix their seeds; where a band is given, its width is said in standard
errors of the estimate.
"""

from __future__ import annotations

import numpy as np
import pytest

from spraycheck.calibrate import roc
from spraycheck.errors import SimulationError
from spraycheck.simulator.run import simulate
from spraycheck.simulator.spray import Sprayed, spray_counts

NUM_PACKETS = 40_000


def noise(policy: str, load: float, num_seeds: int = 300, **fields: int) -> float:
    """sd(X) / sqrt(lambda) over seeds and spines."""
    sprayed = Sprayed(
        num_spines=8, num_packets=NUM_PACKETS, load=load, policy=policy, **fields
    )
    counts = spray_counts(sprayed, range(num_seeds))
    assert counts.shape == (num_seeds, 8)
    assert (counts.sum(axis=1) == NUM_PACKETS).all()
    expected = NUM_PACKETS / 8
    return float(np.sqrt(((counts - expected) ** 2).mean() / expected))


def test_random_spraying_is_binomial() -> None:
    # Var X = lambda (1 - 1/k); 4 standard errors of the estimate are 6 %.
    assert noise("random", 0.9) == pytest.approx((1 - 1 / 8) ** 0.5, rel=0.06)


@pytest.mark.parametrize(
    ("load", "figure"), [(0.125, 0.94), (0.5, 0.62), (0.9, 0.29), (1.0, 0.03)]
)
def test_the_noise_of_two_choices_falls_with_the_load_as_measured(
    load: float, figure: float
) -> None:
    """Figures of FACTS: one flow, 8 spines, smooth arrivals."""
    assert noise("jsq2", load) == pytest.approx(figure, rel=0.06, abs=0.005)


def test_choosing_among_all_is_smoother_and_taking_turns_leaves_no_noise() -> None:
    assert noise("jsq", 0.9, 50) < noise("jsq2", 0.9, 50)
    assert noise("round_robin", 0.9, 3) == 0


def test_bursts_fill_queues_and_smooth_the_spraying_at_low_load() -> None:
    smooth = noise("jsq2", 0.125, 100)
    assert noise("jsq2", 0.125, 100, burst_pkts=64) < 0.8 * smooth


def test_one_sensitivity_separates_the_published_sizes_at_load_098() -> None:
    """SprayCheck 5.3: P_min 60 K at 0.5 %, 20 K at 1 %, 7 K at 1.5 %; 20 seeds each."""
    lowest, highest = 0.0, np.inf
    for drop_frac, per_spine in ((0.005, 60_000), (0.01, 20_000), (0.015, 7_000)):
        size = per_spine * 8
        healthy = Sprayed(num_spines=8, num_packets=size, load=0.98)
        failing = Sprayed(
            num_spines=8, num_packets=size, load=0.98, up_drop_frac={3: drop_frac}
        )
        curve = roc(
            spray_counts(healthy, range(20)),
            spray_counts(failing, range(100, 120)),
            size,
            failed_spine=3,
        )
        assert curve.perfect_from is not None
        assert curve.perfect_to is not None
        lowest = max(lowest, curve.perfect_from)
        highest = min(highest, curve.perfect_to)
    # FACTS: between 0.4 and 0.7.
    assert lowest < 0.5 < 0.7 < highest


def test_lost_packets_are_sprayed_again_so_others_carry_more() -> None:
    """The deficit is p lambda (1 - 1/k), to 3 % of 80 seeds' noise (FACTS)."""
    sprayed = Sprayed(
        num_spines=4, num_packets=80_000, load=0.98, down_drop_frac={1: 0.02}
    )
    counts = spray_counts(sprayed, range(80))
    deficit = 20_000 - counts[:, 1].mean()
    assert deficit == pytest.approx(0.02 * 20_000 * (1 - 1 / 4), rel=0.03)


def test_counts_do_not_depend_on_threads_and_are_those_of_one_simulation() -> None:
    sprayed = Sprayed(num_spines=5, num_packets=3_000, load=0.7)
    alone = spray_counts(sprayed, [4, 9, 2], num_threads=1)
    assert (alone == spray_counts(sprayed, [4, 9, 2], num_threads=3)).all()
    assert (alone[1] == simulate(sprayed.config(), 9).counts[0]).all()
    assert spray_counts(sprayed, []).shape == (0, 5)


def test_a_flow_without_a_path_that_delivers_is_an_error() -> None:
    sprayed = Sprayed(
        num_spines=1, num_packets=5, load=0.5, up_drop_frac={0: 1.0},
        retransmit_after_ns=1_000_000,
    )  # fmt: skip
    with pytest.raises(SimulationError, match="seed 3: 0 of 5 packets arrived"):
        spray_counts(sprayed, [3])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_spines": 0}, "num_spines is 0; allowed: 1 or more"),
        ({"load": 0.0}, "load is 0.0; allowed: above 0"),
        ({"burst_pkts": 4, "burst_load": 0.2}, "burst_load is 0.2; allowed: load"),
        ({"up_drop_frac": {9: 0.1}}, "losses: leaf0-spine9:up is unknown"),
        ({"policy": "ecmp"}, "policy is 'ecmp'; allowed: random, jsq2"),
        ({"num_packets": 0}, "num_packets is 0; allowed: 1 or more"),
    ],
)
def test_a_field_out_of_range_is_named(fields: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"num_spines": 4, "num_packets": 9, "load": 0.5}
    sprayed = Sprayed(**{**given, **fields})  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match=message):
        spray_counts(sprayed, [1])
