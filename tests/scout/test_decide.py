"""From evidence to verdicts, on evidence built by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scout.config import ScoutConfig
from scout.decide import CheckDecider, Decision
from vocab.events import (
    CheckCompleted,
    IncidentClosed,
    SurfaceEvidence,
    TimingEvidence,
)
from vocab.verdict import Action, Kind, State, Verdict

CONFIG = ScoutConfig(replay_every=2, close_after=1)
LAYERS = ("blocks.0", "blocks.1", "blocks.2")


def surface(name: str, layer: str, values: tuple[str | None, ...]) -> SurfaceEvidence:
    return SurfaceEvidence(surface=name, recipe=name.partition(".")[0], layer=layer,
                           values=values, status="", bitmap="", k=0, n=0)  # fmt: skip


def timing(
    name: str, layer: str | None, walls: tuple[float | None, ...]
) -> TimingEvidence:
    none_or_zero = tuple(None if wall is None else 0.0 for wall in walls)
    return TimingEvidence(surface=name, recipe=name.partition(".")[0], layer=layer,
                          wall_s=walls, on_cpu_s=none_or_zero, run_wait_s=none_or_zero,
                          status="", bitmap="", statistic=None)  # fmt: skip


def check(
    index: int,
    *,
    values: tuple[str | None, ...] = ("a", "a", "a", "a"),
    walls: tuple[float | None, ...] = (0.003, 0.003, 0.003, 0.003),
    name: str = "hidden.output[x1]",
) -> CheckCompleted:
    layer = LAYERS[index % 3]
    return CheckCompleted(
        check=index, step=2 * (index + 1), group="replicate@s0t0p0c0e0",
        group_ranks=tuple(range(len(values))), recipes=("hidden",), layer=layer,
        source_rank=index % len(values), missing=(),
        surfaces=(surface(name, layer, values),),
        timings=(timing("hidden.forward", layer, walls),), variants=(1.0,),
        replay_mode="ddp", replay_shape=(4, 32, 64), duration_s=0.01,
    )  # fmt: skip


def verdicts(decisions: list[Decision]) -> list[Verdict]:
    return [item for item in decisions if isinstance(item, Verdict)]


def run(checks: list[CheckCompleted], config: ScoutConfig = CONFIG) -> list[Decision]:
    decider = CheckDecider(config=config)
    found: list[Decision] = []
    for item in checks:
        found += decider.on_check(item, at_ns=item.step)
    return found


def test_agreeing_evidence_gives_no_verdict() -> None:
    assert run([check(i) for i in range(9)]) == []


def test_one_disagreeing_peer_is_named_once_with_its_votes() -> None:
    found = run([check(0), check(1, values=("a", "a", "b", "a")), check(2)])
    (verdict,) = verdicts(found)
    assert verdict.blamed == ("rank2",)
    assert (verdict.kind, verdict.state) == (Kind.SDC, State.ATTRIBUTED)
    assert (verdict.step, verdict.layer) == (4, "blocks.1")
    assert verdict.votes is not None
    assert (verdict.votes.k, verdict.votes.n) == (3, 4)
    assert verdict.action is Action.REPLACE_HOST
    assert "rank2 differs from the majority in the forward output" in verdict.reason
    assert "3 of 4 peers agree" in verdict.reason


def test_the_first_cause_is_named_and_its_consequences_follow() -> None:
    bad = check(0, values=("a", "a", "b", "a"))
    more = surface("hidden.parameters", "blocks.0", ("p", "p", "q", "p"))
    (verdict,) = verdicts(run([replace(bad, surfaces=(*bad.surfaces, more))]))
    assert verdict.surface == "hidden.parameters"
    assert "also in the forward output" in verdict.reason


def test_two_replicas_are_group_scoped_and_say_what_is_needed() -> None:
    (verdict,) = verdicts(run([check(0, values=("a", "b"), walls=(0.1, 0.1))]))
    assert (verdict.state, verdict.blamed) == (State.GROUP_SCOPED, ())
    assert verdict.needed == "a third replica"


def test_three_way_disagreement_is_inconclusive() -> None:
    (verdict,) = verdicts(run([check(0, values=("a", "b", "c", "a"))]))
    assert (verdict.state, verdict.blamed) == (State.INCONCLUSIVE, ())


def test_a_missing_peer_makes_the_check_incomplete_and_blames_nobody() -> None:
    bad = replace(check(0), missing=(3,), problem="rank3: it captured no call")
    found = run([bad, replace(bad, step=4), check(2)])
    (verdict,) = verdicts(found)
    assert (verdict.state, verdict.missing) == (State.INCOMPLETE_DATA, ("rank3",))
    assert isinstance(found[-1], IncidentClosed)


def test_an_incident_is_closed_by_a_clean_measurement_of_its_place() -> None:
    found = run([check(0, values=("a", "b", "a", "a")), check(1), check(2), check(3)])
    closed = [item for item in found if isinstance(item, IncidentClosed)]
    assert [(item.verdict_id, item.step) for item in closed] == [("sdc-1", 8)]


def test_a_second_incident_of_the_same_rank_is_reported() -> None:
    bad = ("a", "b", "a", "a")
    found = run([check(0, values=bad), check(3), check(6, values=bad)])
    assert [verdict.incident for verdict in verdicts(found)] == [1, 2]


def test_an_intermittent_fault_that_rests_once_stays_one_incident() -> None:
    bad = ("a", "b", "a", "a")
    checks = [check(0, values=bad), check(3), check(6, values=bad), check(9)]
    patient = ScoutConfig(replay_every=2, close_after=2)
    assert [verdict.incident for verdict in verdicts(run(checks, patient))] == [1]


def test_two_culprits_at_once_are_both_named() -> None:
    values = ("a", "b", "a", "c", "a")
    walls = (0.003,) * 5
    (verdict,) = verdicts(run([check(0, values=values, walls=walls)]))
    assert verdict.blamed == ("rank1", "rank3")


def test_a_straggler_needs_two_boundaries() -> None:
    walls = (0.003, 0.253, 0.003, 0.003)
    assert verdicts(run([check(0, walls=walls)])) == []
    (verdict,) = verdicts(run([check(0, walls=walls), check(3, walls=walls)]))
    assert (verdict.kind, verdict.blamed) == (Kind.STRAGGLER, ("rank1",))
    assert verdict.confirmations is not None
    assert verdict.confirmations.seen == 2
    assert verdict.statistic is not None
    assert verdict.statistic.value == 0.253
    assert "at steps 2 and 8" in verdict.reason


@pytest.mark.parametrize(
    ("place", "phase", "words"),
    [
        ("data.fetch", "data", "rank2 is slow in fetching its batches: 501.0 ms"),
        ("checkpoint.save", "checkpoint", "slow in writing its checkpoints: 501.0 ms"),
    ],
)
def test_a_slow_phase_needs_two_boundaries_and_no_replay(
    place: str, phase: str, words: str
) -> None:
    walls = (0.001, 0.001, 0.501, 0.001)
    slow = timing(place, None, walls)
    at = [replace(check(i), timings=(slow,)) for i in range(2)]
    assert verdicts(run(at[:1])) == []
    (verdict,) = verdicts(run(at))
    assert (verdict.blamed, verdict.surface, verdict.phase) == (
        ("rank2",), place, phase,
    )  # fmt: skip
    assert (verdict.layer, verdict.replay_mode) == (None, None)
    assert words in verdict.reason


def test_a_slow_phase_does_not_hold_the_rotation_of_layers() -> None:
    decider = CheckDecider(config=CONFIG)
    slow = timing("data.fetch", None, (0.001, 0.001, 0.501, 0.001))
    decider.on_check(replace(check(0), timings=(slow,)), at_ns=0)
    assert not decider.holds_layer


def test_time_in_the_run_queue_is_not_charged() -> None:
    walls = (0.003, 0.253, 0.003, 0.003)
    queued = [
        replace(
            check(i, walls=walls),
            timings=(
                replace(
                    timing("hidden.forward", LAYERS[i % 3], walls),
                    run_wait_s=(0.0, 0.25, 0.0, 0.0),
                ),
            ),
        )
        for i in (0, 3)
    ]
    assert verdicts(run(queued)) == []


def test_two_replicas_of_which_one_is_slow_are_group_scoped() -> None:
    slow = [check(i, values=("a", "a"), walls=(0.003, 0.3)) for i in (0, 3)]
    (verdict,) = verdicts(run(slow))
    assert (verdict.state, verdict.blamed) == (State.GROUP_SCOPED, ())


def test_a_raw_outlier_holds_the_layer_for_the_next_check() -> None:
    decider = CheckDecider(config=CONFIG)
    decider.on_check(check(0, walls=(0.003, 0.3, 0.003, 0.003)), at_ns=0)
    assert decider.holds_layer
    decider.on_check(check(1), at_ns=0)
    assert not decider.holds_layer


@given(
    st.lists(
        st.tuples(*[st.sampled_from("aab") for _ in range(5)]), min_size=1, max_size=6
    )
)
def test_a_peer_with_the_majority_value_at_every_check_is_never_blamed(
    rows: list[tuple[str, ...]],
) -> None:
    found = verdicts(
        run([check(i, values=row, walls=(0.003,) * 5) for i, row in enumerate(rows)])
    )
    for verdict in found:
        for name in verdict.blamed:
            peer = int(name.removeprefix("rank"))
            assert any(row[peer] != max(row, key=row.count) for row in rows)


@given(st.permutations(range(5)))
def test_verdicts_follow_a_permutation_of_the_peers(order: list[int]) -> None:
    values = ("a", "a", "b", "a", "a")
    shuffled = tuple(values[i] for i in order)
    (verdict,) = verdicts(run([check(0, values=shuffled, walls=(0.003,) * 5)]))
    assert verdict.blamed == (f"rank{order.index(2)}",)


def loop_check(index: int, item: TimingEvidence) -> CheckCompleted:
    return replace(check(index), timings=(item,))


def test_a_rank_that_is_late_to_collectives_is_named_by_its_own_loop() -> None:
    late = timing("loop.blocked", None, (0.0, 0.0, 0.0, 0.5))
    (verdict,) = verdicts(run([loop_check(i, late) for i in range(3)]))
    assert (verdict.blamed, verdict.phase, verdict.layer) == (("rank3",), "loop", None)
    assert "its own loop, where no peer makes it wait" in verdict.reason
    assert verdict.confirmations is not None
    assert verdict.confirmations.seen == 2


def test_run_queue_wait_is_a_straggler_only_where_a_quota_made_it() -> None:
    crowded = replace(
        timing("hidden.forward", "blocks.0", (0.005, 0.3, 0.005, 0.005)),
        run_wait_s=(0.0, 0.295, 0.0, 0.0),
    )
    held = replace(crowded, throttled_s=(0.0, 0.29, 0.0, 0.0))
    assert verdicts(run([loop_check(i, crowded) for i in range(3)])) == []
    (verdict,) = verdicts(run([loop_check(i, held) for i in range(3)]))
    assert verdict.blamed == ("rank1",)
