"""The played fabric: packets are conserved, faults lose what they say, time adds up."""

from __future__ import annotations

import pytest

from harness.fabric.player import Played, Player
from injectors.fabric_effect import (
    CarrierLost,
    Competes,
    Effect,
    HostLoses,
    LinkLoses,
    SpineDies,
    SpoofsMarks,
)
from spraycheck.errors import SimulationError
from tests.harness.fabric.small import JOB_BYTES, settings

GRAY = LinkLoses(link="leaf0-spine1:up", drop_frac=0.05)


def play(
    *effects: Effect, steps: int = 1, seed: int = 3, fabric_seed: int = 0
) -> Played:
    player = Player(settings(seed=fabric_seed), 4, seed)
    for step in range(1, steps + 1):
        player.begin(step, JOB_BYTES, effects)
        played = player.finish()
    return played


def announced(player: Player, step: int) -> dict[tuple[int, int], int]:
    begun = player.begin(step, JOB_BYTES, ())
    return {(a.source_leaf, a.target_leaf): a.num_packets for a in begun.announced}


def test_a_healthy_fabric_counts_what_was_announced_half_of_it_in_the_middle() -> None:
    player = Player(settings(), 4, 1)
    sizes = announced(player, 1)
    middle = player.middle()
    played = player.finish()
    for half, whole in zip(middle, played.counted, strict=True):
        pair = (whole.source_leaf, whole.target_leaf)
        assert sum(whole.counts) == sizes[pair]
        assert sum(half.counts) == sizes[pair] // 2
    assert played.extra_s == 0
    assert played.trace.lost == {}
    assert played.num_packets == sum(sizes.values())


def test_every_leaf_measures_one_flow_at_a_time_and_all_in_turn() -> None:
    player = Player(settings(), 4, 1)
    measured = []
    for step in (1, 2):
        announced(player, step)
        measured.append(
            [(c.source_leaf, c.target_leaf) for c in player.finish().counted]
        )
    assert [source for source, _ in measured[0]] == [0, 1, 2, 3]
    assert set(measured[0]) | set(measured[1]) == {
        (0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)
    }  # fmt: skip


def test_the_same_seed_gives_the_same_packets_and_another_one_others() -> None:
    assert play(GRAY).counted == play(GRAY).counted
    assert play(GRAY).counted != play(GRAY, fabric_seed=1).counted
    assert play(GRAY).counted != play(GRAY, seed=4).counted


def test_only_the_faulty_link_loses_and_the_lost_packets_come_over_all_paths() -> None:
    played = play(GRAY)
    assert set(played.trace.lost) == {GRAY.link}
    share = played.trace.lost[GRAY.link] / played.trace.carried[GRAY.link]
    assert share == pytest.approx(0.05, abs=0.035)  # 7 sigma of 1,900 packets
    first = played.counted[0]
    assert sum(first.counts) == 5_000  # all arrive in the end
    assert min(first.counts) == first.counts[1]
    assert played.extra_s > 0


def test_a_black_hole_costs_the_share_of_its_path() -> None:
    played = play(LinkLoses(link="leaf0-spine1:up", drop_frac=1.0))
    assert played.counted[0].counts[1] == 0
    # Every fourth transmission is lost: 4/3 as many of them, at the same rate. The last
    # ones are sent again and again, 50 us apart, until they take another path.
    clean_s = played.simulated_s - played.extra_s
    tails_s = 4 * 10 * 50e-6  # stages x tries; 0.25^10 of 5,000 packets need more
    assert 4 / 3 * clean_s < played.simulated_s < 4 / 3 * clean_s + tails_s


def test_a_link_without_carrier_leaves_the_routing_and_loses_nothing() -> None:
    player = Player(settings(), 4, 1)
    begun = player.begin(1, JOB_BYTES, (CarrierLost(links=("leaf0-spine1",)),))
    played = player.finish()
    assert len(begun.graph.paths(0, 1)) == 3
    assert played.counted[0].counts[1] == 0
    assert played.trace.lost == {}
    assert played.trace.without_carrier == {"leaf0-spine1"}


def test_a_dead_spine_loses_all_or_leaves_the_routing() -> None:
    unnoticed = play(SpineDies(spine=2, is_routed=True))
    noticed = play(SpineDies(spine=2, is_routed=False))
    assert {item.counts[2] for item in unnoticed.counted} == {0}
    assert len(unnoticed.trace.lost) == 4
    assert noticed.trace.lost == {}
    assert len(noticed.trace.without_carrier) == 4


def test_losses_behind_the_last_leaf_are_counted_twice_and_never_too_few() -> None:
    played = play(HostLoses(host=1, direction="down", drop_frac=0.1))
    counts = played.counted[0].counts
    assert sum(counts) > 5_000
    assert min(counts) > 5_000 / 4
    assert played.trace.lost == {}
    assert played.trace.lost_at_hosts["host1:down"] > 0


def test_losses_before_the_first_leaf_are_not_seen_by_any_leaf() -> None:
    played = play(HostLoses(host=0, direction="up", drop_frac=0.1))
    assert sum(played.counted[0].counts) == 5_000
    assert played.trace.lost_at_hosts["host0:up"] > 0


def test_spoofed_marks_do_not_count() -> None:
    played = play(SpoofsMarks(source_leaf=0, target_leaf=1, num_packets=200))
    assert (played.trace.spoofed_sent, played.trace.spoofed_counted) == (200, 0)
    assert sum(played.counted[0].counts) == 5_000


def test_competing_packets_arrive_and_are_not_counted_as_measured() -> None:
    played = play(Competes(source_leaf=0, target_leaf=1, load_frac=0.5))
    assert played.trace.competing > 0
    assert sum(played.counted[0].counts) == 5_000


def test_leaves_without_any_path_are_an_error_with_their_names() -> None:
    links = tuple(f"leaf0-spine{spine}" for spine in range(4))
    with pytest.raises(SimulationError, match="no path from leaf0"):
        play(CarrierLost(links=links))
