"""Dumps of all ranks: whom the classifier names per group, and whom it never names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scout.errors import DumpError
from scout.flight_dump import Dump, parse
from scout.flight_groups import Group, groups_of, world_of
from scout.flight_recorder import judge
from scout.hang_finding import HangFinding
from tests.scout.dump_builder import WORLD, calls, content, dump, entry, pickled
from vocab.verdict import Action, Heading, Scope, State

SILENCE_S = 30.0
LABEL = "default_pg (0)"


def judged(dumps: Sequence[Dump], **more: Any) -> dict[str, HangFinding]:
    """The finding of every group, by its label."""
    given_ranks = more.pop("num_ranks", None)
    groups = groups_of(dumps, world_of(dumps, given_ranks))
    options = {"silence_s": SILENCE_S, **more}
    return {group.label: judge(group, **options).finding for group in groups}


def only(dumps: Sequence[Dump], **more: Any) -> HangFinding:
    (finding,) = judged(dumps, **more).values()
    return finding


def said(finding: HangFinding) -> tuple[State, str, tuple[int, ...], tuple[int, ...]]:
    return finding.state, finding.reason_code, finding.blamed, finding.victims


# --- one group ------------------------------------------------------------------------


def test_a_rank_that_did_not_come_to_a_collective_is_named() -> None:
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1, 3)]
    found = only([*dumps, dump(2, calls(6, pending=False))])
    assert said(found) == (State.ATTRIBUTED, "rank_behind", (2,), (0, 1, 3))
    assert (found.heading, found.step, found.phase) == (Heading.BEHIND, None, None)
    assert found.reason == (
        "rank2 stopped after all_reduce 6 of group default_pg (0); 3 of 4 wait in "
        "all_reduce 7 of group default_pg (0)"
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"shape": (512,)}, "shape"),
        ({"dtype": "Half"}, "dtype"),
        ({"op": "broadcast"}, "op"),
        ({"op": "all_gather", "outputs": (4096,)}, "op and shape"),
    ],
)
def test_a_rank_that_called_something_else_is_named_with_the_field(
    fields: dict[str, Any], field: str
) -> None:
    usual = [*calls(3, pending=False), entry(3, 4, state="started")]
    other = [*calls(3, pending=False), entry(3, 4, state="started", **fields)]
    found = only([dump(r, other if r == 1 else usual) for r in range(4)])
    assert said(found)[:3] == (State.ATTRIBUTED, "collective_mismatch", (1,))
    assert f"a different {field} at {LABEL}[4]: " in found.reason
    assert "step" not in found.reason


def test_a_mismatch_counts_though_nobody_has_been_silent_for_long() -> None:
    usual = calls(4, pending=False)
    other = [*usual[:3], entry(3, 4, shape=(7,))]
    found = only([dump(r, other if r == 1 else usual, age_s=0) for r in range(4)])
    assert (found.state, found.blamed) == (State.ATTRIBUTED, (1,))


def test_one_that_waits_where_others_are_done_is_no_culprit() -> None:
    dumps = [dump(r, calls(7, pending=False)) for r in range(3)]
    found = only([*dumps, dump(3, calls(6, pending=True))])
    assert (found.state, found.blamed, found.victims[-1]) == (State.GROUP_SCOPED, (), 3)


def test_all_in_one_collective_is_the_groups_stall() -> None:
    found = only([dump(r, calls(6, pending=True)) for r in range(4)])
    assert (found.state, found.reason_code) == (State.GROUP_SCOPED, "equal_progress")
    assert found.action is Action.DIAGNOSE_FABRIC


def test_nothing_pending_is_healthy() -> None:
    found = only([dump(r, calls(6, pending=False)) for r in range(4)])
    assert said(found) == (State.HEALTHY, "all_done", (), ())


def test_dumps_of_a_job_that_still_moves_name_nobody() -> None:
    dumps = [dump(r, calls(6, pending=True), age_s=2) for r in (0, 1, 3)]
    dumps.append(dump(2, calls(6, pending=False), age_s=2))
    assert only(dumps).reason_code == "not_stalled"
    assert only(dumps, silence_s=1.0).blamed == (2,)


def test_a_dump_of_unknown_age_names_nobody() -> None:
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1, 3)]
    undated = replace(dump(2, calls(6, pending=False)), written_ns=None)
    assert only([*dumps, undated]).reason_code == "not_stalled"


def test_work_that_is_only_enqueued_counts_for_nobody() -> None:
    """Three ranks have enqueued far ahead; all wait in number 7, rank 2 never came."""
    ahead = [*calls(6, pending=True), *(entry(i, i + 1, state="scheduled")
                                        for i in range(7, 40))]  # fmt: skip
    dumps = [dump(r, ahead[: 9 + r]) for r in (0, 1, 3)]
    found = only([*dumps, dump(2, calls(6, pending=False))])
    assert said(found) == (State.ATTRIBUTED, "rank_behind", (2,), (0, 1, 3))
    assert "3 of 4 wait in all_reduce 7" in found.reason


def test_a_rank_whose_device_has_not_begun_the_collective_is_behind() -> None:
    """Rank 2 enqueued number 7, but an earlier kernel never lets it start."""
    started = {"time_discovered_started_ns": 1}
    usual = calls(6, pending=True, **started)
    queued = [*calls(6, pending=False, **started), entry(6, 7, state="scheduled")]
    found = only([dump(r, queued if r == 2 else usual) for r in range(4)])
    assert said(found)[:3] == (State.ATTRIBUTED, "rank_behind", (2,))


def test_a_rank_that_never_used_a_group_that_it_is_in_is_behind() -> None:
    dumps = [dump(r, calls(0, pending=True)) for r in (0, 1, 3)]
    found = only([*dumps, dump(2, [])], silence_s=0.0)
    assert found.blamed == (2,)
    assert "after the start-up (nothing of this group yet)" in found.reason


def test_coalesced_parts_are_compared_as_one_collective() -> None:
    def parts(second: int, state: str = "started") -> list[dict[str, Any]]:
        return [
            entry(0, 1, op="_all_gather_base", state=state),
            entry(1, 1, op="_all_gather_base", state=state, shape=(second,)),
            entry(2, 1, op="coalesced", state=state),
        ]

    found = only([dump(r, parts(9 if r == 3 else 8)) for r in range(4)])
    assert said(found)[:3] == (State.ATTRIBUTED, "collective_mismatch", (3,))
    assert "[1024]+[9]" in found.reason
    done = only([dump(r, parts(8, "completed")) for r in range(4)])
    assert done.reason_code == "all_done"


# --- ranks without data ---------------------------------------------------------------


def test_a_rank_without_a_dump_is_missing_and_is_not_blamed_for_a_lost_file() -> None:
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1, 3)]
    found = only(dumps)
    assert said(found) == (State.INCOMPLETE_DATA, "no_dump", (), (0, 1, 3))
    assert found.missing == (2,)
    assert found.needed == ("the dump of rank2, or certainty that none was written")


def test_a_rank_that_wrote_no_dump_though_all_others_wait_is_a_silent_host() -> None:
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1, 3)]
    found = only(dumps, all_dumps_given=True)
    assert said(found)[:3] == (State.ATTRIBUTED, "silent_host", (2,))
    assert found.scope is Scope.HOST


def test_missing_ranks_do_not_count_as_agreeing() -> None:
    """Of eight ranks two have gone past rank 2: a majority of the dumps, not of all."""
    dumps = [dump(r, calls(6, pending=True), world=8) for r in (0, 1)]
    dumps.append(dump(2, calls(6, pending=False), world=8))
    for all_given in (False, True):
        found = only(dumps, all_dumps_given=all_given)
        assert found.state is State.INCOMPLETE_DATA
        assert found.missing == (3, 4, 5, 6, 7)
        assert found.n == 8


def test_a_missing_rank_does_not_save_one_that_a_majority_went_past() -> None:
    dumps = [dump(r, calls(6, pending=True), world=5) for r in (0, 1, 3)]
    found = only([*dumps, dump(2, calls(6, pending=False), world=5)])
    assert (found.blamed, found.missing, found.k, found.n) == ((2,), (4,), 3, 5)


def test_a_place_that_was_overwritten_is_no_data_and_is_never_a_silent_host() -> None:
    """Rank 2's ring holds only newer entries of another group."""
    side = ("7", "side")
    groups = {side: (2, 3)}
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1)]
    dumps.append(dump(3, calls(6, pending=True), groups=groups))
    dumps.append(dump(2, [entry(90, 80, group=side)], groups=groups))
    for all_given in (False, True):
        found = judged(dumps, all_dumps_given=all_given)[LABEL]
        assert (found.state, found.missing) == (State.INCOMPLETE_DATA, (2,))


def test_the_size_of_the_job_can_be_told() -> None:
    gloo = {"backend": "gloo"}
    dumps = [dump(r, calls(6, pending=True, **gloo), world=None) for r in range(3)]
    assert only(dumps).n == 3
    found = only(dumps, num_ranks=4)
    assert (found.n, found.missing, found.state) == (4, (3,), State.INCOMPLETE_DATA)
    with pytest.raises(DumpError, match="rank_2: rank: is 2; allowed: 0 to 1"):
        judged(dumps, num_ranks=2)


def test_two_dumps_of_one_rank_are_refused() -> None:
    with pytest.raises(DumpError, match="allowed: one dump per rank"):
        world_of([dump(1, []), dump(1, [])])


# --- several groups -------------------------------------------------------------------

# 2 x 4 mesh: rows are data-parallel groups, columns are pairs.
ROW = {0: ("1", "mesh_dp"), 1: ("2", "mesh_dp")}
ROW_RANKS = {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}
COLUMN_RANKS = {column: (column, column + 4) for column in range(4)}


def mesh_dump(rank: int, *, row: str, column: str = "completed") -> Dump:
    """One rank of the mesh: `row` and `column` are its collectives' states."""
    r, c = divmod(rank, 4)
    pair = (str(3 + c), "mesh_tp")
    entries = [entry(0, 1, group=ROW[r]), entry(1, 1, group=pair)]
    if row != "not called":
        entries.append(entry(len(entries), 2, group=ROW[r], state=row))
    if column != "not called":
        entries.append(entry(len(entries), 2, group=pair, state=column))
    groups = {ROW[r]: ROW_RANKS[r], pair: COLUMN_RANKS[c]}
    return dump(rank, entries, world=None, groups=groups)


def test_every_group_is_compared_among_its_own_members() -> None:
    dumps = [
        mesh_dump(rank, row="not called" if rank == 6 else "started",
                  column="not called")
        for rank in range(8)
    ]  # fmt: skip
    found = judged(dumps)
    assert found["mesh_dp (2)"].blamed == (6,)
    assert found["mesh_dp (2)"].group_ranks == (4, 5, 6, 7)
    assert found["mesh_dp (1)"].reason_code == "equal_progress"
    assert {f.state for label, f in found.items() if "tp" in label} == {State.HEALTHY}


def test_a_rank_that_waits_in_another_group_is_a_victim() -> None:
    """Rank 2 did not come to its row because its pair keeps it: rank 6 is to blame."""
    dumps = [mesh_dump(rank, row="started") for rank in (0, 1, 3, 4, 5, 7)]
    dumps.append(mesh_dump(2, row="not called", column="started"))
    dumps.append(mesh_dump(6, row="not called", column="not called"))
    found = judged(dumps)
    assert found["mesh_dp (1)"].blamed == ()
    assert "rank2 waits in all_reduce 2 of group mesh_tp (5)" in (
        found["mesh_dp (1)"].reason
    )
    assert found["mesh_dp (2)"].blamed == (6,)
    pair = found["mesh_tp (5)"]  # of two peers neither is a majority
    assert (pair.state, pair.blamed) == (State.GROUP_SCOPED, ())


def test_a_rank_that_waits_in_a_receive_is_a_victim() -> None:
    receive = entry(6, 0, op="recv 2<-3", state="started", is_p2p=True)
    dumps = [dump(r, calls(6, pending=True)) for r in (0, 1, 3)]
    found = only([*dumps, dump(2, [*calls(6, pending=False), receive])])
    assert found.blamed == ()
    assert "rank2 waits in recv 2<-3 of group default_pg (0)" in found.reason


def test_groups_that_were_split_under_one_name_stay_apart() -> None:
    half = ("9", "half")
    members = {0: (0, 1, 2), 1: (3, 4, 5)}
    dumps = [
        dump(r, [entry(0, 1, group=half, shape=(r // 3 + 1,))], world=None,
             groups={half: members[r // 3]})
        for r in range(6)
    ]  # fmt: skip
    assert {label: f.reason_code for label, f in judged(dumps).items()} == {
        "half (9) of ranks 0, 1, 2": "all_done",
        "half (9) of ranks 3, 4, 5": "all_done",
    }


def test_a_member_that_tells_other_members_has_no_data_for_the_group() -> None:
    dumps = [dump(r, calls(6, pending=True)) for r in range(3)]
    other = dump(3, calls(6, pending=False), world=5)
    found = judged([*dumps, other], all_dumps_given=True)
    assert all(item.blamed == () for item in found.values())


def test_a_rank_outside_the_group_that_it_used_is_named() -> None:
    with pytest.raises(DumpError, match="of which rank 5 is no member"):
        judged([dump(5, calls(1, pending=False), world=4)])


# --- gloo -----------------------------------------------------------------------------

GLOO = {"backend": "gloo"}
PAIR = ("1", "pair")


def gloo(rank: int, entries: Sequence[dict[str, Any]]) -> Dump:
    return dump(rank, entries, world=None)


def test_gloo_names_the_rank_that_did_not_come() -> None:
    dumps = [gloo(r, calls(6, pending=True, **GLOO)) for r in (0, 1, 3)]
    found = only([*dumps, gloo(2, calls(6, pending=False, **GLOO))])
    assert (found.state, found.blamed) == (State.ATTRIBUTED, (2,))


def test_gloo_jobs_with_unseen_sends_name_nobody_by_position() -> None:
    unseen = [*calls(6, pending=False, **GLOO), entry(6, 7, op_id=9, state="started",
                                                      **GLOO)]  # fmt: skip
    dumps = [gloo(r, unseen) for r in (0, 1, 3)]
    found = only([*dumps, gloo(2, calls(6, pending=False, **GLOO))])
    assert said(found)[:3] == (State.INCONCLUSIVE, "unseen_operations", ())
    assert found.needed == "a stack trace of rank2"


def test_gloo_subgroups_with_missing_dumps_name_nobody() -> None:
    """Who else belongs to the group is not recorded, so no majority is certain."""

    def member(rank: int, *, pending: bool) -> Dump:
        return gloo(rank, calls(6, pending=pending, group=PAIR, **GLOO))

    dumps = [member(0, pending=True), member(1, pending=True),
             member(2, pending=False)]  # fmt: skip
    assert only(dumps).blamed == (2,)
    found = only(dumps, num_ranks=6)
    assert said(found)[:3] == (State.INCOMPLETE_DATA, "unknown_members", ())


# --- properties -----------------------------------------------------------------------


@settings(max_examples=200)
@given(
    size=st.integers(3, 8),
    culprit=st.integers(0, 7),
    done=st.integers(0, 12),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_files_changes_nothing_and_the_culprit_is_exact(
    size: int, culprit: int, done: int, order: Any
) -> None:
    culprit %= size
    dumps = [
        dump(r, calls(done, pending=r != culprit), world=size) for r in range(size)
    ]
    shuffled = list(dumps)
    order.shuffle(shuffled)
    found = only(shuffled, silence_s=0.0)
    assert found == only(dumps, silence_s=0.0)
    assert found.blamed == (culprit,)


@settings(max_examples=200)
@given(
    ends=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["completed", "started"])),
        min_size=2, max_size=6,
    ),
    lost=st.sets(st.integers(0, 5)),
)  # fmt: skip
def test_losing_dumps_never_makes_anybody_guilty(
    ends: list[tuple[int, str]], lost: set[int]
) -> None:
    size = len(ends)
    dumps = [
        dump(r, [*calls(done, pending=False), entry(done, done + 1, state=state)],
             world=size)
        for r, (done, state) in enumerate(ends)
    ]  # fmt: skip
    kept = [item for item in dumps if item.rank not in lost]
    if not kept:
        return
    whole, part = only(dumps), only(kept)
    assert set(part.blamed) <= set(whole.blamed)
    assert not set(part.blamed) & set(part.missing)
    assert set(part.missing) == lost & set(range(size))


@settings(max_examples=300)
@given(
    flips=st.lists(st.tuples(st.integers(0), st.integers(1, 255)), min_size=1),
    cut=st.none() | st.integers(0, 5000),
)
def test_a_damaged_dump_is_named_or_blames_at_most_its_own_rank(
    flips: list[tuple[int, int]], cut: int | None
) -> None:
    """Three healthy dumps are a majority: none is named, whatever else is in it."""
    healthy = [dump(r, calls(3, pending=True)) for r in range(3)]
    data = bytearray(pickled(content(calls(3, pending=True), {WORLD: range(4)})))
    for place, mask in flips:
        data[place % len(data)] ^= mask
    try:
        damaged = parse(bytes(data[:cut]), file="rank_3", rank=3)
        found = judged([*healthy, damaged], silence_s=0.0, all_dumps_given=True)
    except DumpError:
        return
    assert all(set(item.blamed) <= {3} for item in found.values())


@settings(max_examples=300)
@given(data=st.binary(max_size=300))
def test_garbage_is_always_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="^rank_0: "):
        parse(data, file="rank_0", rank=0)


def test_a_group_tells_all_that_is_missing() -> None:
    group = Group(label="g", ranks=(0, 1, 2, 3), is_certain=True, snapshots=(),
                  no_dump=(3,), no_data=(1,), has_unseen=False)  # fmt: skip
    assert group.missing == (1, 3)
