"""The hang classifier: whom it names, and whom it never names."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scout.config import ScoutConfig
from scout.hang import classify, reclassify
from scout.hang_finding import HangFinding
from scout.hang_verdict import to_verdict
from tests.scout.progress_builder import (
    CONFIG,
    STEP,
    THRESHOLD_S,
    boundaries,
    classify_group,
    collectives,
    fingerprint,
    place,
    snapshot,
)
from vocab.codec import from_json, to_json
from vocab.events import ProgressCompared, ProgressSnapshot, RingEntry
from vocab.verdict import Action, Heading, Kind, Scope, State, Statistic, Verdict

REDUCE = place("reduce")
FORWARD_1 = place("forward", "layers.1")
BACKWARD_1 = place("backward", "layers.1")


def waiting(rank: int, step: int = 6, **more: object) -> ProgressSnapshot:
    """A rank in the gradient reduction."""
    return snapshot(rank, boundaries(step, REDUCE), **more)  # type: ignore[arg-type]


def said(finding: HangFinding) -> tuple[State, str, tuple[int, ...], tuple[int, ...]]:
    return finding.state, finding.reason_code, finding.blamed, finding.victims


# --- one rank behind ------------------------------------------------------------------


@pytest.mark.parametrize("state", ["S", "R", "D", "T", "t"])
@pytest.mark.parametrize(
    ("op", "phase", "layer"),
    [
        (place("data"), "data", None),
        (FORWARD_1, "forward", "layers.1"),
        (BACKWARD_1, "backward", "layers.1"),
    ],
)
def test_a_rank_that_stopped_while_peers_wait_is_behind(
    state: str, op: int, phase: str, layer: str | None
) -> None:
    stuck = snapshot(2, boundaries(6, op), state=state)
    found = classify_group([waiting(0), waiting(1), stuck, waiting(3)])
    assert said(found) == (State.ATTRIBUTED, "rank_behind", (2,), (0, 1, 3))
    assert (found.heading, found.k, found.n) == (Heading.BEHIND, 3, 4)
    assert (found.step, found.phase, found.layer) == (6, phase, layer)
    assert found.action is Action.RESTART_IN_PLACE


def test_the_whole_verdict_of_a_frozen_rank() -> None:
    frozen = snapshot(2, boundaries(6, FORWARD_1), state="T", age_s=6.25)
    found = classify_group([waiting(0), waiting(1), frozen, waiting(3)])
    verdict = to_verdict(found, incident=1, group="replicate", at_ns=7)
    assert verdict == Verdict(
        verdict_id="hang-1",
        incident=1,
        kind=Kind.HANG,
        state=State.ATTRIBUTED,
        scope=Scope.RANK,
        reason_code="rank_behind",
        reason=(
            "rank2 stopped in the forward pass of layers.1 at step 6 (its process is "
            "stopped, state T); 3 of 4 wait in the gradient reduction of step 6"
        ),
        action=Action.RESTART_IN_PLACE,
        group="replicate",
        group_ranks=(0, 1, 2, 3),
        blamed=("rank2",),
        victims=("rank0", "rank1", "rank3"),
        heading=Heading.BEHIND,
        statistic=Statistic(
            name="silence",
            value=6.25,
            threshold=5.0,
            expression="silence > threshold(forward)",
            unit="s",
        ),
        votes=verdict.votes,
        step=6,
        layer="layers.1",
        phase="forward",
        stall_s=6.25,
        at_ns=7,
    )
    assert verdict.votes is not None
    assert (verdict.votes.k, verdict.votes.n) == (3, 4)
    assert from_json(Verdict, to_json(verdict)) == verdict


def test_a_rank_stuck_in_backward_is_named_and_not_the_group() -> None:
    # lm-resiliency publishes forward boundaries only and blames all (FACTS).
    stuck = snapshot(1, boundaries(9, BACKWARD_1))
    found = classify_group([waiting(rank, 9) for rank in (0, 2, 3)] + [stuck])
    assert found.blamed == (1,)


def test_two_frozen_ranks_of_eight_are_both_named() -> None:
    frozen = [snapshot(rank, boundaries(6, FORWARD_1), state="T") for rank in (2, 5)]
    others = [waiting(rank) for rank in (0, 1, 3, 4, 6, 7)]
    found = classify_group([*frozen, *others])
    assert said(found) == (
        State.ATTRIBUTED,
        "rank_behind",
        (2, 5),
        (0, 1, 3, 4, 6, 7),
    )


def test_a_stopped_process_explains_who_came_out_of_an_operation_late() -> None:
    behind = [
        snapshot(2, boundaries(6, FORWARD_1), state="T"),
        snapshot(5, boundaries(6, FORWARD_1)),
    ]
    others = [waiting(rank) for rank in (0, 1, 3, 4, 6, 7)]
    assert classify_group([*behind, *others]).blamed == (2,)


def test_a_rank_that_never_began_is_behind() -> None:
    found = classify_group([waiting(0, 1), waiting(1, 1), snapshot(2, [])])
    assert found.blamed == (2,)
    assert "before its first step" in found.reason


def test_a_rank_stuck_after_its_peers_finished_is_behind() -> None:
    done = [
        snapshot(rank, boundaries(6, len(STEP) - 1), state="finished")
        for rank in (0, 1, 2)
    ]
    found = classify_group([*done, snapshot(3, boundaries(6, FORWARD_1))])
    assert said(found) == (State.ATTRIBUTED, "rank_behind", (3,), ())


# --- who is never blamed --------------------------------------------------------------


def test_a_rank_that_is_merely_ahead_is_not_blamed() -> None:
    # It came out of the reduction first; the others are still inside.
    ahead = snapshot(3, boundaries(6, place("optimizer")))
    found = classify_group([waiting(0), waiting(1), waiting(2), ahead])
    assert said(found)[:3] == (State.GROUP_SCOPED, "partly_completed", ())


def test_a_rank_that_merely_waits_is_not_blamed_for_being_behind() -> None:
    inside = waiting(3, step=6)
    others = [snapshot(rank, boundaries(7, FORWARD_1)) for rank in (0, 1, 2)]
    assert classify_group([*others, inside]).blamed == ()


def test_a_straggler_that_still_moves_is_no_hang() -> None:
    slow = snapshot(2, boundaries(6, FORWARD_1), age_s=0.5)
    found = classify_group([waiting(0), waiting(1), slow, waiting(3)])
    assert (found.state, found.kind) == (State.HEALTHY, Kind.NONE)
    assert "rank2" in found.reason


def test_a_rank_that_writes_a_long_checkpoint_is_no_alarm() -> None:
    ring = boundaries(6, place("optimizer"))
    ring.append(
        RingEntry(
            seq=99, step=6, op=ring[-1].op, phase="checkpoint", name="step6.pt",
            lane_op=0,
        )
    )  # fmt: skip
    saving = snapshot(0, ring, age_s=300.0)
    found = classify_group([saving, *(waiting(rank, 7) for rank in (1, 2, 3))])
    assert found.state is State.HEALTHY
    stuck = snapshot(0, ring, age_s=601.0)
    found = classify_group([stuck, *(waiting(rank, 7) for rank in (1, 2, 3))])
    assert found.blamed == (0,)
    assert found.phase == "checkpoint"


def test_a_checkpoint_of_one_rank_does_not_move_it_ahead_of_its_peers() -> None:
    ring = boundaries(6, place("optimizer"))
    ring += [
        RingEntry(
            seq=99,
            step=6,
            op=ring[-1].op,
            phase="checkpoint",
            name="a",
            lane_op=0,
            left_ns=1,
        )  # fmt: skip
    ]
    ring += [
        RingEntry(seq=100 + index, step=7, op=index, phase=phase, name=name)
        for index, (phase, name) in enumerate(STEP[: REDUCE + 1])
    ]
    found = classify_group([snapshot(0, ring), *(waiting(r, 7) for r in (1, 2, 3))])
    assert said(found)[:3] == (State.GROUP_SCOPED, "equal_progress", ())


# --- equal progress, ties, two peers --------------------------------------------------


def test_equal_progress_is_scoped_to_the_group_and_asks_for_diagnostics() -> None:
    found = classify_group([waiting(rank) for rank in range(4)])
    assert said(found) == (State.GROUP_SCOPED, "equal_progress", (), (0, 1, 2, 3))
    assert found.scope is Scope.PROCESS_GROUP
    assert found.action is Action.DIAGNOSE_FABRIC
    assert found.needed is not None


def test_equal_progress_with_a_stopped_process_names_it() -> None:
    frozen = waiting(1, state="T")
    found = classify_group([waiting(0), frozen, waiting(2), waiting(3)])
    assert said(found) == (State.ATTRIBUTED, "process_stopped", (1,), (0, 2, 3))


@pytest.mark.parametrize("num_stopped", [2, 3, 4])
def test_stopped_processes_that_are_no_minority_name_nobody(num_stopped: int) -> None:
    stopped = [waiting(rank, state="T") for rank in range(num_stopped)]
    found = classify_group([*stopped, *map(waiting, range(num_stopped, 4))])
    assert found.state is State.GROUP_SCOPED


def test_two_peers_that_disagree_are_scoped_to_the_group() -> None:
    found = classify_group([waiting(0), snapshot(1, boundaries(6, FORWARD_1))])
    assert said(found)[:3] == (State.GROUP_SCOPED, "two_peers_disagree", ())
    assert found.needed is not None


def test_a_tie_is_inconclusive() -> None:
    behind = [snapshot(rank, boundaries(6, FORWARD_1)) for rank in (2, 3)]
    found = classify_group([waiting(0), waiting(1), *behind])
    assert said(found)[:3] == (State.INCONCLUSIVE, "no_majority", ())
    assert found.needed is not None


# --- missing ranks --------------------------------------------------------------------


def test_a_missing_rank_that_all_wait_for_is_a_silent_host() -> None:
    found = classify_group([waiting(0), waiting(1), waiting(3)], missing=[2])
    assert said(found) == (State.ATTRIBUTED, "silent_host", (2,), (0, 1, 3))
    assert (found.scope, found.action) == (Scope.HOST, Action.REPLACE_HOST)
    assert (found.k, found.n) == (3, 4)


def test_a_missing_rank_is_found_where_waiting_is_out_of_sight() -> None:
    # FSDP waits for its gathers inside the forward pass.
    def in_forward(rank: int) -> ProgressSnapshot:
        ring = collectives(6, [fingerprint("all_gather")], done=1)
        forward = RingEntry(seq=1, step=6, op=1, phase="forward", name="layers.1")
        return snapshot(rank, [*ring, forward])

    found = classify_group([in_forward(0), in_forward(1), in_forward(3)], missing=[2])
    assert said(found)[:3] == (State.ATTRIBUTED, "silent_host", (2,))


def test_missing_ranks_never_count_as_agreeing() -> None:
    # Two of four are beyond rank 1: with the missing one counted it would be three.
    stuck = snapshot(1, boundaries(6, FORWARD_1))
    found = classify_group([waiting(0), stuck, waiting(2)], missing=[3])
    assert said(found)[:3] == (State.INCOMPLETE_DATA, "missing_ranks", ())
    assert found.needed == "the progress of rank3"


def test_a_missing_observer_does_not_hide_a_stopped_process() -> None:
    frozen = snapshot(1, boundaries(6, FORWARD_1), state="T")
    found = classify_group([waiting(0), frozen, waiting(2)], missing=[3])
    assert found.blamed == (1,)


def test_a_cut_off_minority_does_not_blame_the_healthy_majority() -> None:
    found = classify_group([waiting(0), waiting(1)], missing=[2, 3, 4])
    assert found.state is State.INCOMPLETE_DATA


def test_of_two_a_missing_peer_is_not_blamed() -> None:
    assert classify_group([waiting(0)], missing=[1]).state is State.INCOMPLETE_DATA


def test_a_missing_rank_is_not_blamed_while_a_live_one_still_moves() -> None:
    moving = snapshot(1, boundaries(6, FORWARD_1), age_s=0.1)
    found = classify_group([waiting(0), moving, waiting(3)], missing=[2])
    assert found.state is State.HEALTHY


def test_a_rank_that_is_silent_when_all_others_have_finished_hinders_nobody() -> None:
    # At the end of a job each observer goes when its rank does.
    done = [
        snapshot(rank, boundaries(6, len(STEP) - 1), state="finished")
        for rank in (0, 1, 2)
    ]
    found = classify_group(done, missing=[3])
    assert said(found) == (State.HEALTHY, "others_finished", (), ())


def test_ranks_that_have_all_finished_are_no_stalled_group() -> None:
    # An observer that follows a stall to its end asks when the job is over.
    done = [
        snapshot(rank, boundaries(6, len(STEP) - 1), state="finished")
        for rank in range(4)
    ]
    found = classify_group(done)
    assert said(found) == (State.HEALTHY, "others_finished", (), ())
    assert found.reason == "all ranks have finished"


def test_ranks_and_group_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"cover ranks \[0\]; allowed: \[0, 1\]"):
        classify(
            [waiting(0)],
            group_ranks=[0, 1],
            missing=[],
            silent_s=6,
            threshold_s=5,
            silence_of=CONFIG.silence_of,
        )


# --- collectives ----------------------------------------------------------------------

_WRONG = {
    "op": fingerprint("broadcast"),
    "reduction": fingerprint(reduction="max"),
    "dtype": fingerprint(dtype="int32"),
    "shape": fingerprint(shape="[7]"),
    "root": fingerprint(root="3"),
}


@pytest.mark.parametrize("field", sorted(_WRONG))
@pytest.mark.parametrize("done", [2, 3])
def test_a_mismatched_collective_names_the_rank_and_the_field(
    field: str, done: int
) -> None:
    # Also when it does not hang: `done` 3 means that the rank came out of the call.
    usual, other = fingerprint(), fingerprint(shape="[8]")
    good = [snapshot(r, collectives(6, [other, other, usual])) for r in (0, 1, 3)]
    ring = collectives(6, [other, other, _WRONG[field]], done=done)
    found = classify_group([*good, snapshot(2, ring)])
    assert said(found)[:3] == (State.ATTRIBUTED, "collective_mismatch", (2,))
    assert found.surface == f"replicate[2] {field}"
    assert found.victims[:2] == (0, 1)
    assert field in found.reason


def test_an_aborting_victim_of_a_mismatch_is_listed_as_victim() -> None:
    # A wrong shape aborts a healthy rank while the culprit lives (FACTS).
    usual = fingerprint()
    ring = collectives(6, [usual, usual])
    dead = snapshot(1, ring, state="gone", signal=signal.SIGABRT, gone_s=0.3, age_s=0.3)
    wrong = snapshot(2, collectives(6, [usual, fingerprint(shape="[7]")]), age_s=0.3)
    found = classify_group(
        [snapshot(0, ring, age_s=0.3), dead, wrong, snapshot(3, ring, age_s=0.3)],
        silent_s=0.3,
    )
    assert said(found) == (State.ATTRIBUTED, "collective_mismatch", (2,), (0, 1, 3))
    assert found.statistic.threshold is None


def test_a_majority_that_broadcasts_wrongly_is_judged_by_majority() -> None:
    ring = collectives(6, [fingerprint("broadcast")])
    good = [snapshot(rank, ring) for rank in (0, 1, 3)]
    found = classify_group([*good, snapshot(2, collectives(6, [fingerprint()]))])
    assert found.blamed == (2,)


def test_a_skipped_collective_is_named_by_where_the_sequences_meet_again() -> None:
    scalar, bucket = fingerprint(shape="[]"), fingerprint()
    usual = collectives(5, [scalar, bucket]) + collectives(6, [scalar], first_seq=2)
    skipped = collectives(5, [scalar, bucket]) + collectives(6, [bucket], first_seq=2)
    found = classify_group(
        [*(snapshot(rank, usual) for rank in (0, 1, 3)), snapshot(2, skipped)]
    )
    assert said(found)[:3] == (State.ATTRIBUTED, "skipped_collective", (2,))
    assert found.heading is Heading.BEHIND


def test_an_extra_collective_is_named_ahead() -> None:
    scalar, bucket = fingerprint(shape="[]"), fingerprint()
    usual = collectives(6, [scalar, bucket])
    extra = collectives(6, [scalar, scalar, bucket], done=1)
    found = classify_group(
        [*(snapshot(rank, usual) for rank in (0, 1, 3)), snapshot(2, extra)]
    )
    assert said(found)[:3] == (State.ATTRIBUTED, "extra_collective", (2,))
    assert found.heading is Heading.AHEAD


def training_ring(steps: int, loss_calls: dict[int, int]) -> list[RingEntry]:
    """Steps of boundaries, a gradient bucket and the loss; the last call pends.

    `loss_calls`: how often a step calls the loss's all_reduce, where it is not once.
    """
    ring: list[RingEntry] = []
    number = 0

    def put(step: int, op: int, phase: str, name: str, call: str | None = None) -> None:
        nonlocal number
        ring.append(
            RingEntry(
                seq=len(ring), step=step, op=op, phase=phase, name=name,
                group_role="world" if call else None,
                group_seq=number if call else None, fingerprint=call, left_ns=1,
            )
        )  # fmt: skip
        number += call is not None

    loss, bucket = fingerprint(shape="[1]"), fingerprint()
    for step in range(1, steps + 1):
        num_losses = loss_calls.get(step, 1) if step < steps else 0
        places: list[tuple[str, str, str | None]] = [
            *((phase, name, None) for phase, name in STEP[:-1]),
            ("reduce", "all_reduce", bucket),
            ("optimizer", "update", None),
            *[("optimizer", "all_reduce", loss)] * num_losses,
        ]
        for op, (phase, name, call) in enumerate(places):
            put(step, op, phase, name, call)
    return ring


@given(st.integers(2, 5), st.integers(0, 3), st.booleans())
def test_skip_and_extra_are_told_apart_by_the_boundaries_between_the_calls(
    step: int, culprit: int, is_extra: bool
) -> None:
    # Both call the loss or the bucket where the peers call the other: the sequence of
    # calls alone does not say whether the culprit is early or late.
    usual = training_ring(step + 1, {})
    stuck = training_ring(step + 1, {step: 2 if is_extra else 0})
    calls = [entry.seq for entry in stuck if entry.step == step and entry.group_role]
    if is_extra:  # it hangs in the second loss of the step
        stuck = stuck[: calls[-1] + 1]
    found = classify_group(
        [snapshot(r, stuck if r == culprit else usual) for r in range(4)]
    )
    code = "extra_collective" if is_extra else "skipped_collective"
    assert said(found)[:3] == (State.ATTRIBUTED, code, (culprit,))
    assert found.heading is (Heading.AHEAD if is_extra else Heading.BEHIND)


@pytest.mark.parametrize(
    ("calls", "code", "heading"),
    [
        (1, "skipped_collective", Heading.BEHIND),
        (3, "extra_collective", Heading.AHEAD),
    ],
)
def test_a_same_sized_skip_or_extra_shows_as_a_shift_at_the_end(
    calls: int, code: str, heading: Heading
) -> None:
    # All of them pair off by one and complete with wrong sums until the job's end.
    same = fingerprint()

    def ring(first: int, last_done: int) -> list[RingEntry]:
        return [
            *collectives(8, [same] * first, done=first),
            *collectives(9, [same] * 2, first_seq=first, done=last_done),
        ]

    usual_done = 1 if calls == 1 else 2
    good = [snapshot(rank, ring(2, usual_done)) for rank in (0, 1, 3)]
    found = classify_group([*good, snapshot(2, ring(calls, 2 if calls == 1 else 1))])
    assert said(found)[:3] == (State.ATTRIBUTED, code, (2,))
    assert found.heading is heading


def test_two_ranks_that_disagree_on_a_collective_are_scoped_to_the_group() -> None:
    found = classify_group(
        [
            snapshot(0, collectives(6, [fingerprint()])),
            snapshot(1, collectives(6, [fingerprint(dtype="int32")])),
        ]
    )
    assert said(found)[:3] == (State.GROUP_SCOPED, "two_peers_disagree", ())


def test_splits_that_may_differ_are_no_mismatch() -> None:
    rings = [
        collectives(6, [fingerprint("all_to_all", shape="*", reduction="-")])
        for _ in range(3)
    ]
    found = classify_group([snapshot(rank, ring) for rank, ring in enumerate(rings)])
    assert found.reason_code == "equal_progress"


# --- deaths ---------------------------------------------------------------------------


def test_a_killed_rank_is_a_crash_and_who_dies_of_it_is_a_victim() -> None:
    killed = snapshot(
        2, boundaries(6, FORWARD_1), state="gone", signal=signal.SIGKILL, gone_s=0.4
    )
    aborted = waiting(3, state="gone", exit_code=1, gone_s=0.1)
    found = classify_group(
        [waiting(0, age_s=0.3), waiting(1, age_s=0.3), killed, aborted], silent_s=0.4
    )
    assert said(found) == (State.ATTRIBUTED, "process_died", (2,), (0, 1, 3))
    assert found.kind is Kind.CRASH
    assert "was killed by SIGKILL in the forward pass of layers.1" in found.reason


def test_a_rank_that_raised_is_the_culprit_although_a_victim_was_faster_to_leave() -> (
    None
):
    raised = snapshot(
        2, boundaries(6, FORWARD_1), state="gone", exit_code=1, gone_s=0.1
    )
    victim = waiting(3, state="gone", exit_code=1, gone_s=0.5)
    found = classify_group([waiting(0), waiting(1), raised, victim])
    assert found.blamed == (2,)


def test_a_rank_that_aborts_inside_a_collective_may_be_a_victim() -> None:
    def dead(gone_s: float) -> ProgressSnapshot:
        return waiting(1, state="gone", signal=signal.SIGABRT, gone_s=gone_s)

    others = [waiting(rank, age_s=1.0) for rank in (0, 2, 3)]
    assert classify_group([dead(0.3), *others]).state is State.HEALTHY  # not yet
    found = classify_group([dead(2.5), *others])
    assert said(found)[:3] == (State.GROUP_SCOPED, "maybe_victim", ())
    assert found.kind is Kind.CRASH


def test_a_rank_that_aborts_in_a_collective_that_all_agreed_on_is_named() -> None:
    ring = collectives(6, [fingerprint()])
    dead = snapshot(1, ring, state="gone", signal=signal.SIGABRT, gone_s=0.3)
    found = classify_group([dead, *(snapshot(rank, ring) for rank in (0, 2, 3))])
    assert said(found)[:3] == (State.ATTRIBUTED, "process_died", (1,))


def test_a_group_that_is_ended_from_outside_names_nobody() -> None:
    dead = [
        waiting(rank, state="gone", signal=signal.SIGKILL, gone_s=0.3 + rank / 100)
        for rank in range(4)
    ]
    assert classify_group(dead).state is State.HEALTHY


def test_a_dead_rank_whose_observer_is_dead_too_is_blamed_not_the_survivors() -> None:
    found = classify_group([waiting(0), waiting(1), waiting(3)], missing=[2])
    assert found.blamed == (2,)


@pytest.mark.parametrize("exit_code", [1, None])
def test_victims_that_died_waiting_are_not_blamed_where_a_rank_is_not_heard_of(
    exit_code: int | None,
) -> None:
    signal = None if exit_code else 6
    dead = [
        snapshot(
            rank, boundaries(6, REDUCE), state="gone", exit_code=exit_code,
            signal=signal, gone_s=1.0 - rank / 10,
        )
        for rank in (0, 1, 3)
    ]  # fmt: skip
    found = classify_group(dead, missing=[2])
    assert said(found) == (State.ATTRIBUTED, "silent_host", (2,), (0, 1, 3))
    assert found.scope is Scope.HOST
    assert "all 3 peers died waiting in the gradient reduction" in found.reason


def test_a_rank_that_died_on_its_own_is_blamed_although_another_is_missing() -> None:
    own = snapshot(1, boundaries(6, FORWARD_1), state="gone", exit_code=3, gone_s=1.0)
    found = classify_group([waiting(0), own, waiting(3), waiting(4)], missing=[2])
    assert (found.kind, found.blamed) == (Kind.CRASH, (1,))


# --- re-analysis ----------------------------------------------------------------------


def test_a_recorded_comparison_gives_the_same_finding() -> None:
    snapshots = (waiting(0), waiting(1), snapshot(2, boundaries(6, FORWARD_1)))
    event = ProgressCompared(
        comparison=1,
        trigger="silence",
        rank=0,
        silent_s=THRESHOLD_S + 0.5,
        threshold_s=THRESHOLD_S,
        group_ranks=(0, 1, 2),
        snapshots=snapshots,
        missing=(),
    )
    again = from_json(ProgressCompared, to_json(event))
    assert reclassify(again, CONFIG.silence_of) == classify_group(snapshots)


# --- properties -----------------------------------------------------------------------

_places = st.tuples(st.integers(1, 3), st.integers(0, len(STEP) - 1))
_states = st.sampled_from(["S", "R", "T"])
_ages = st.sampled_from([0.1, THRESHOLD_S + 0.1, THRESHOLD_S + 3])


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[ProgressSnapshot], list[int]]:
    size = draw(st.integers(1, 6))
    snapshots, missing = [], []
    for rank in range(size):
        if draw(st.integers(0, 5)) == 0:
            missing.append(rank)
        else:
            step, op = draw(_places)
            snapshots.append(
                snapshot(
                    rank,
                    boundaries(step, op),
                    age_s=draw(_ages),
                    state=draw(_states),
                )
            )
    return snapshots, missing


@given(groups(), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_renaming_ranks_renames_the_blamed_and_changes_nothing_else(
    group: tuple[list[ProgressSnapshot], list[int]], random: object
) -> None:
    snapshots, missing = group
    names = list(range(len(snapshots) + len(missing)))
    random.shuffle(names)  # type: ignore[attr-defined]
    renamed = [
        ProgressSnapshot(
            rank=names[item.rank],
            ring=item.ring,
            age_s=item.age_s,
            trainer_state=item.trainer_state,
        )
        for item in snapshots
    ]
    before = classify_group(snapshots, missing=missing)
    after = classify_group(renamed, missing=[names[rank] for rank in missing])
    assert (after.state, after.reason_code, after.k) == (
        before.state,
        before.reason_code,
        before.k,
    )
    for mine, theirs in (
        (before.blamed, after.blamed),
        (before.victims, after.victims),
    ):
        assert sorted(names[rank] for rank in mine) == list(theirs)


@given(groups())
@settings(max_examples=300)
def test_a_healthy_majority_is_never_blamed(
    group: tuple[list[ProgressSnapshot], list[int]],
) -> None:
    snapshots, missing = group
    found = classify_group(snapshots, missing=missing)
    assert 2 * len(found.blamed) < found.n or found.blamed == ()
    assert (found.state is State.ATTRIBUTED) == bool(found.blamed)
    if not found.blamed and found.state is not State.HEALTHY:
        assert found.needed
    assert not set(found.blamed) & set(found.victims)


@given(_places, st.integers(1, 8), _ages)
def test_identical_progress_never_names_anybody(
    where: tuple[int, int], size: int, age_s: float
) -> None:
    ring = boundaries(*where)
    found = classify_group([snapshot(rank, ring, age_s=age_s) for rank in range(size)])
    assert found.blamed == ()


@given(groups())
@settings(max_examples=200)
def test_a_rank_that_waits_or_moves_is_never_named_unless_its_process_stands(
    group: tuple[list[ProgressSnapshot], list[int]],
) -> None:
    snapshots, missing = group
    found = classify_group(snapshots, missing=missing)
    for item in snapshots:
        if item.rank in found.blamed:
            assert item.age_s >= THRESHOLD_S
            assert item.ring[-1].phase != "reduce" or item.trainer_state == "T"


def test_a_threshold_of_its_own_is_used_for_every_phase() -> None:
    config = ScoutConfig(silence_s=5.0, silence_by_phase_s={"forward": 60.0})
    stuck = snapshot(2, boundaries(6, FORWARD_1), age_s=30.0)
    found = classify(
        [waiting(0), waiting(1), stuck, waiting(3)],
        group_ranks=range(4),
        missing=[],
        silent_s=30.0,
        threshold_s=5.0,
        silence_of=config.silence_of,
    )
    assert found.state is State.HEALTHY
