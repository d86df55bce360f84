"""Flow selection: the paper's order, and that no destination starves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spraycheck.announcement import Announcement
from spraycheck.selection import FlowSelected, FlowSelector


def flow_to(target: int, qp: int | None = None) -> Announcement:
    return Announcement(
        source_leaf=0, target_leaf=target, dest_qp=target if qp is None else qp,
        first_psn=0, num_packets=100, sequence=0,
    )  # fmt: skip


def test_the_lowest_destination_that_had_no_turn_is_next() -> None:
    selector = FlowSelector(leaf=0, num_leaves=4)
    assert selector.on_announcement(flow_to(2)) == FlowSelected(
        target_leaf=2, dest_qp=2
    )
    assert selector.on_announcement(flow_to(3)) is None
    assert selector.on_announcement(flow_to(1)) is None
    selector.on_announcement(flow_to(1, qp=99))
    order = []
    for _ in range(6):
        assert selector.selected is not None
        order.append((selector.selected.target_leaf, selector.selected.dest_qp))
        selector.on_flow_ended(*order[-1])
    # Everybody had a turn, then a new cycle begins; queue pairs take turns as well.
    assert order == [(2, 2), (1, 1), (3, 3), (1, 99), (2, 2), (3, 3)]


def test_the_end_of_another_flow_changes_nothing() -> None:
    selector = FlowSelector(leaf=0, num_leaves=4)
    selector.on_announcement(flow_to(2))
    assert selector.on_flow_ended(3, 3) is None
    assert selector.selected == FlowSelected(target_leaf=2, dest_qp=2)


def test_local_and_unknown_destinations_are_not_measured() -> None:
    selector = FlowSelector(leaf=0, num_leaves=4)
    assert selector.on_announcement(flow_to(0)) is None
    assert selector.on_announcement(flow_to(7)) is None
    assert selector.available == 0


def test_a_flow_that_never_ends_is_forgotten_by_the_second_reset() -> None:
    selector = FlowSelector(leaf=0, num_leaves=4)
    selector.on_announcement(flow_to(1))
    assert selector.on_reset() is None
    selector.on_announcement(flow_to(2))
    assert selector.on_reset() == FlowSelected(target_leaf=2, dest_qp=2)
    assert selector.available == 0b0100


def test_state_is_bounded_whatever_hosts_announce() -> None:
    selector = FlowSelector(leaf=0, num_leaves=4)
    for qp in range(10_000):
        selector.on_announcement(flow_to(1, qp=qp))
    assert sum(len(flows) for flows in selector._flows.values()) <= 64


steps = st.lists(
    st.one_of(
        st.tuples(st.just("announce"), st.integers(1, 7)),
        st.tuples(st.just("end"), st.just(0)),
        st.tuples(st.just("reset"), st.just(0)),
    ),
    max_size=120,
)


@given(steps, st.integers(1, 7))
def test_a_destination_that_stays_available_does_not_starve(
    moves: list[tuple[str, int]], patient: int
) -> None:
    selector = FlowSelector(leaf=0, num_leaves=8)
    waited = 0
    selector.on_announcement(flow_to(patient))
    for move, target in moves:
        before = selector.selected
        if move == "announce":
            selector.on_announcement(flow_to(target))
        elif move == "reset":
            selector.on_reset()
        elif before is not None:
            selector.on_flow_ended(before.target_leaf, before.dest_qp)
        now = selector.selected
        if now is not None and now.target_leaf == patient:
            waited = 0
        elif now != before:
            waited += 1
        assert waited <= 7
        selector.on_announcement(flow_to(patient))  # it stays available
