"""The leaf controller: order of events, aggregation, expiry, and bad input."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spraycheck.announcement import Announcement
from spraycheck.control import ControlConfig, LeafController, StateSize
from spraycheck.errors import CalibrationError, CountError
from spraycheck.report import (
    ControlEvent,
    CounterOverflowed,
    FlowClosed,
    InputRejected,
    PathsReported,
    ThresholdComputed,
)
from vocab.graph import LeafSpine
from vocab.names import Link

GRAPH = LeafSpine(num_leaves=4, num_spines=4)
CONFIG = ControlConfig(sensitivity=lambda k: 3.0, min_packets_per_spine=10_000)
GOOD = (10_010, 9_990, 10_000, 10_000)
LOSSY = (9_500, 10_170, 10_160, 10_170)
SECOND = 1_000_000_000


def controller(config: ControlConfig = CONFIG) -> LeafController:
    return LeafController(leaf=1, graph=GRAPH, config=config)


def announced(**changes: int) -> Announcement:
    fields = {
        "source_leaf": 0, "target_leaf": 1, "dest_qp": 17, "first_psn": 0,
        "num_packets": 40_000, "sequence": 0,
    }  # fmt: skip
    return Announcement(**{**fields, **changes})


def reports(events: Sequence[ControlEvent]) -> list[PathsReported]:
    return [event for event in events if isinstance(event, PathsReported)]


def codes(events: Sequence[ControlEvent]) -> list[str]:
    return [
        event.reason_code
        for event in events
        if isinstance(event, (FlowClosed, InputRejected))
    ]


def test_the_threshold_is_computed_when_the_flow_is_announced() -> None:
    assert controller().on_announcement(announced(first_psn=2**24 - 10), 5) == (
        ThresholdComputed(
            dest_qp=17, threshold_pkts=9_700, first_psn=2**24 - 10, last_psn=39_989,
            num_packets=40_000,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("order", ["before", "during", "after"])
def test_the_announcement_may_come_before_during_or_after_the_data(order: str) -> None:
    leaf = controller()
    events: tuple[ControlEvent, ...] = ()
    if order == "before":
        events += leaf.on_announcement(announced(), 0)
        events += leaf.on_threshold_written(17, (0, 0, 0, 0), False, 1)
        events += leaf.on_last_psn(17, LOSSY, 2)
    elif order == "during":
        events += leaf.on_counts(17, (100, 100, 100, 100), 0)
        events += leaf.on_announcement(announced(), 1)
        events += leaf.on_last_psn(17, LOSSY, 2)
    else:
        events += leaf.on_counts(17, LOSSY, 0)
        events += leaf.on_announcement(announced(), 1)
        events += leaf.on_threshold_written(17, LOSSY, True, 2)
    (report,) = reports(events)
    assert report.result.failed == (0,)
    assert report.is_conclusive
    assert (report.source_leaf, report.target_leaf, report.ended_ns) == (0, 1, 2)
    assert events[-1] == FlowClosed(dest_qp=17, reason_code="compared")


def test_on_a_time_out_only_complete_counts_are_compared() -> None:
    """A job that stopped at 99.5 % puts every spine below the threshold."""
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    leaf.on_counts(17, (9_600, 9_940, 9_940, 9_940), 1)
    assert leaf.on_tick(60 * SECOND - 1) == ()
    assert codes(leaf.on_tick(60 * SECOND)) == ["expired"]

    leaf.on_announcement(announced(sequence=1), 0)
    leaf.on_counts(17, LOSSY, 1)  # the last packet was lost and sent again
    (report,) = reports(leaf.on_tick(60 * SECOND))
    assert report.result.failed == (0,)


def test_a_flow_that_nobody_announced_expires_after_a_minute() -> None:
    leaf = controller()
    leaf.on_counts(17, LOSSY, 0)
    assert leaf.on_last_psn(17, LOSSY, 1) == ()
    assert leaf.on_tick(60 * SECOND) == (
        FlowClosed(dest_qp=17, reason_code="never_announced"),
    )
    assert leaf.state_size().num_flows == 0


def test_flows_and_iterations_add_up_until_they_are_enough() -> None:
    leaf = controller()
    found = []
    for turn in range(8):
        # Two queue pairs, four iterations; each is a fourth of P_min.
        flow = announced(dest_qp=turn % 2, num_packets=10_000, sequence=turn)
        leaf.on_announcement(flow, 2 * turn)
        counts = (2_400, 2_540, 2_530, 2_530)
        found += reports(leaf.on_last_psn(turn % 2, counts, 2 * turn + 1))
    assert [item.is_conclusive for item in found] == [False] * 3 + [True] * 5
    assert [item.num_flows for item in found] == [1, 2, 3, 4, 4, 4, 4, 4]
    assert found[0].reason_code == "too_few_packets"
    # k * (s / (p * (1 - 1/k)))^2 = 4 * (3 / 0.0075)^2 = 640,000 for 1 %
    assert found[0].packets_still_needed == 640_000 - 10_000
    assert found[-1].result.failed == (0,)
    assert (found[-1].started_ns, found[-1].ended_ns) == (8, 15)


def test_a_new_iteration_of_a_queue_pair_follows_the_old_one() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    leaf.on_counts(17, (100, 100, 100, 100), 1)
    events = leaf.on_announcement(announced(sequence=1, first_psn=40_000), 2)
    assert codes(events) == ["superseded"]
    assert isinstance(events[-1], ThresholdComputed)
    assert leaf.on_announcement(announced(), 3) == ()  # the old one, reordered
    assert codes(leaf.on_last_psn(17, GOOD, 4)) == ["compared"]


def test_state_is_reported_and_bounded() -> None:
    leaf = controller(dataclasses.replace(CONFIG, max_flows=2))
    leaf.on_announcement(announced(dest_qp=1), 0)
    leaf.on_announcement(announced(dest_qp=2), 0)
    assert codes(leaf.on_announcement(announced(dest_qp=3), 0)) == ["table_full"]
    assert codes(leaf.on_counts(4, GOOD, 0)) == ["table_full"]
    assert leaf.state_size() == StateSize(
        num_flows=2, max_flows=2, num_windows=0, num_records=0,
        register_bytes=2 * (4 * 4 + 12),
    )  # fmt: skip


# --- bad input: a named reason, never a report that could blame -------------------


def test_a_flow_announced_too_long_is_never_judged() -> None:
    leaf = controller()
    leaf.on_announcement(announced(num_packets=41_200), 0)
    assert leaf.on_last_psn(17, GOOD, 1) == ()
    assert codes(leaf.on_tick(60 * SECOND)) == ["counts_short"]


def test_a_flow_announced_too_short_fails_no_path() -> None:
    leaf = controller()
    leaf.on_announcement(announced(num_packets=20_000), 0)
    (report,) = reports(leaf.on_last_psn(17, LOSSY, 1))
    assert report.result.failed == ()


def test_a_count_above_n_is_named() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    assert leaf.on_last_psn(17, (40_001, 0, 0, 0), 1) == (
        FlowClosed(
            dest_qp=17,
            reason_code="count_above_n",
            detail="counted 40001 of 40000 packets",
        ),
    )


def test_two_leaves_with_one_queue_pair_are_both_doubted() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    assert codes(leaf.on_announcement(announced(source_leaf=2), 1)) == ["duplicate_qp"]
    assert codes(leaf.on_announcement(announced(), 2)) == ["qp_in_doubt"]
    assert leaf.on_last_psn(17, LOSSY, 3) == ()
    leaf.on_tick(62 * SECOND)
    assert isinstance(
        leaf.on_announcement(announced(sequence=1), 63 * SECOND)[0], ThresholdComputed
    )


def test_an_announcement_that_changes_its_mind_is_named() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    events = leaf.on_announcement(announced(num_packets=50_000), 1)
    assert codes(events) == ["announcement_changed"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"source_leaf": 9}, "unknown_leaf"),
        ({"source_leaf": 1}, "unknown_leaf"),
        ({"target_leaf": 2}, "wrong_leaf"),
        ({"num_packets": 3}, "too_few_packets"),
    ],
)
def test_an_announcement_that_cannot_be_is_rejected_by_name(
    changes: dict[str, int], code: str
) -> None:
    leaf = controller()
    (event,) = leaf.on_announcement(announced(**changes), 0)
    assert isinstance(event, InputRejected)
    assert event.reason_code == code
    assert "allowed: " in event.detail
    assert leaf.state_size().num_flows == 0


@pytest.mark.parametrize("num_paths", [0, 1])
def test_one_path_or_none_has_nothing_to_compare_with(num_paths: int) -> None:
    down = frozenset(Link(0, spine) for spine in range(num_paths, 4))
    graph = LeafSpine(num_leaves=4, num_spines=4, disabled=down)
    leaf = LeafController(leaf=1, graph=graph, config=CONFIG)
    assert codes(leaf.on_announcement(announced(), 0)) == ["too_few_paths"]


@pytest.mark.parametrize("counts", [(1, 2, 3), (1, 2, 3, -4), (1, 2, 3, 2**32)])
def test_counts_that_cannot_be_are_rejected(counts: tuple[int, ...]) -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    assert codes(leaf.on_last_psn(17, counts, 1)) == ["malformed_counts"]


def test_packets_over_a_spine_without_route_spoil_the_flow() -> None:
    graph = LeafSpine(num_leaves=4, num_spines=4, disabled=frozenset({Link(0, 3)}))
    leaf = LeafController(leaf=1, graph=graph, config=CONFIG)
    leaf.on_announcement(announced(num_packets=30_000), 0)
    events = leaf.on_last_psn(17, (10_000, 10_000, 9_999, 1), 1)
    assert codes(events) == ["unexpected_spine"]


def test_disabled_links_leave_fewer_paths_with_more_packets_each() -> None:
    graph = LeafSpine(num_leaves=4, num_spines=4, disabled=frozenset({Link(0, 1)}))
    leaf = LeafController(leaf=1, graph=graph, config=CONFIG)
    leaf.on_announcement(announced(num_packets=30_000), 0)
    (report,) = reports(leaf.on_last_psn(17, (10_300, 0, 9_400, 10_300), 1))
    assert [item.spine for item in report.result.spines] == [0, 2, 3]
    assert report.result.failed == (2,)


def test_a_route_that_changes_in_mid_flow_ends_the_measurement() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    down = LeafSpine(num_leaves=4, num_spines=4, disabled=frozenset({Link(1, 2)}))
    assert codes(leaf.on_routing_changed(down, 1)) == ["routing_changed"]


def test_without_a_calibration_nothing_is_measured() -> None:
    def none(k: int) -> float:
        raise CalibrationError(f"no s for k = {k}; allowed: 8")

    leaf = controller(dataclasses.replace(CONFIG, sensitivity=none))
    (event,) = leaf.on_announcement(announced(), 0)
    assert event == InputRejected(
        dest_qp=17, reason_code="not_calibrated", detail="no s for k = 4; allowed: 8"
    )


def test_sixteen_bit_counters_raise_an_alarm_at_one_gib_over_four_spines() -> None:
    """1 GiB of 4 KiB packets at k = 4 is 65,536 a spine: one more than fits."""
    config = dataclasses.replace(CONFIG, counter_bits=16)
    flow = announced(num_packets=2**30 // 4096)
    alarm, closed = controller(config).on_announcement(flow, 0)
    assert alarm == CounterOverflowed(
        dest_qp=17, counter_bits=16, expected_pkts=65_536.0
    )
    assert closed == FlowClosed(dest_qp=17, reason_code="counter_overflow")
    assert isinstance(controller().on_announcement(flow, 0)[0], ThresholdComputed)


def test_a_counter_that_wrapped_is_not_believed() -> None:
    leaf = controller()
    leaf.on_announcement(announced(), 0)
    assert codes(leaf.on_counter_overflowed(17)) == ["counter_overflow"]
    assert leaf.on_tick(60 * SECOND) == ()


@pytest.mark.parametrize(
    "changes",
    [{"min_packets_per_spine": 0}, {"counter_bits": 24}, {"wanted_drop_frac": 0.0}],
)
def test_a_setting_out_of_range_is_a_named_error(changes: dict[str, int]) -> None:
    with pytest.raises(CountError, match=f"{next(iter(changes))} is .* allowed: "):
        dataclasses.replace(CONFIG, **changes)  # type: ignore[arg-type]


# --- properties -------------------------------------------------------------------

small = st.integers(-1, 5)
announcements = st.builds(
    announced,
    source_leaf=st.integers(0, 5),
    target_leaf=st.sampled_from([1, 1, 1, 2]),
    dest_qp=st.integers(0, 3),
    num_packets=st.sampled_from([1, 4, 100, 40_000, 2**23]),
    first_psn=st.sampled_from([0, 2**24 - 1]),
    sequence=st.sampled_from([0, 1, 2, 2**32 - 1]),
)
counters = st.lists(st.integers(-1, 20_000) | st.just(2**40), min_size=3, max_size=5)
moves = st.one_of(
    st.tuples(st.just("announce"), announcements),
    st.tuples(st.just("counts"), st.integers(0, 4), counters),
    st.tuples(st.just("last"), st.integers(0, 4), counters),
    st.tuples(st.just("written"), st.integers(0, 4), counters, st.booleans()),
    st.tuples(st.just("overflow"), st.integers(0, 4)),
    st.tuples(st.just("tick"), st.integers(-5, 90)),
)


@given(st.lists(moves, max_size=30))
def test_no_input_crashes_the_controller_or_grows_its_state(
    steps: list[tuple[object, ...]],
) -> None:
    leaf = controller(dataclasses.replace(CONFIG, max_flows=3))
    now = 0
    events: tuple[ControlEvent, ...] = ()
    for name, *args in steps:
        if name == "announce":
            events = leaf.on_announcement(*args, now)  # type: ignore[arg-type]
        elif name == "counts":
            events = leaf.on_counts(*args, now)  # type: ignore[arg-type]
        elif name == "last":
            events = leaf.on_last_psn(*args, now)  # type: ignore[arg-type]
        elif name == "written":
            events = leaf.on_threshold_written(*args, now)  # type: ignore[arg-type]
        elif name == "overflow":
            events = leaf.on_counter_overflowed(*args)  # type: ignore[arg-type]
        else:
            now += args[0] * SECOND  # type: ignore[operator]
            events = leaf.on_tick(now)
        assert leaf.state_size().num_flows <= 3
        for report in reports(events):
            if report.is_conclusive and report.result.failed:
                assert report.result.is_consistent


@given(st.integers(0, 2**32 - 1), st.just(1.0) | st.floats(1.1, 4.0))
def test_a_healthy_flow_that_lies_about_its_length_blames_nobody(
    seed: int, factor: float
) -> None:
    """Longer than announced noise (s) allows: too long by less cannot be told."""
    source = np.random.default_rng(seed)
    counts = source.multinomial(40_000, [0.25] * 4).tolist()
    leaf = controller(dataclasses.replace(CONFIG, sensitivity=lambda k: 5.0))
    leaf.on_announcement(announced(num_packets=int(40_000 * factor)), 0)
    for report in reports(leaf.on_last_psn(17, counts, 1)):
        assert not report.is_conclusive or not report.result.failed
