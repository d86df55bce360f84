"""Detection on damaged events: named, nobody blamed, never a crash (issue 7)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.fabric.detection import Detection
from vocab.event_base import Event
from vocab.events import Problem, Stamped, VerdictIssued
from vocab.fabric_events import (
    ExchangeWaited,
    FabricEnded,
    FabricReady,
    FlowAnnounced,
    FlowCounted,
    FlowUnjudged,
    PathsCompared,
    RoutingChanged,
    Sensitivity,
    SpineCount,
)

READY = FabricReady(
    num_leaves=3, num_spines=3, policy="jsq2", load=0.9, burst_pkts=1, model="real",
    min_packets_per_spine=10, wanted_drop_frac=0.01, patience_s=1.0,
    sensitivities=tuple(
        Sensitivity(num_spines=k, s=3.0, false_alarm=1e-6, sampled_s=3.0, num_alarms=0,
                    num_flows=100, num_packets=100, variance_ratio=0.3)
        for k in (2, 3)
    ),
    disabled=(), pid=1, startup_s=0.1,
)  # fmt: skip


def told(*items: tuple[str, Event]) -> list[Event]:
    """What follows from these events, in order; outputs are handed back in."""
    detection = Detection()
    found: list[Event] = []
    todo = list(items)
    at = 0
    while todo:
        source, event = todo.pop(0)
        at += 1
        outputs = detection.on_event(
            Stamped(seq=at, t_ns=at * 1_000_000, source=source, event=event)
        )
        found += [output.event for output in outputs]
        todo = [*((o.source, o.event) for o in outputs), *todo]
    return found


def announced(**changes: int) -> FlowAnnounced:
    fields = {
        "step": 1, "source_leaf": 0, "target_leaf": 1, "dest_qp": 7, "first_psn": 0,
        "num_packets": 90, "sequence": 0,
    }  # fmt: skip
    return FlowAnnounced(**{**fields, **changes})


def counted(*counts: int, dest_qp: int = 7) -> FlowCounted:
    return FlowCounted(step=1, dest_qp=dest_qp, counts=counts, is_over=True)


@pytest.mark.parametrize(
    ("source", "event", "said"),
    [
        ("leaf1", announced(num_packets=0), "num_packets is 0; allowed: "),
        ("leaf1", announced(first_psn=2**24), "first_psn is 16777216; allowed: "),
        ("fabric", RoutingChanged(step=1, disabled=("leaf0_spine1",)), "leaf0_spine1"),
        ("rack7", counted(30, 30, 30), "rack7"),
    ],
)
def test_what_cannot_be_is_a_problem_by_name(
    source: str, event: Event, said: str
) -> None:
    (problem,) = told(("fabric", READY), (source, event))
    assert isinstance(problem, Problem)
    assert said in problem.message
    assert f"{type(event).__name__} 2 of {source}" in problem.message


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([announced(source_leaf=9)], "unknown_leaf"),
        ([announced(num_packets=2)], "too_few_packets"),
        ([announced(), counted(91, 0, 0)], "count_above_n"),
        ([announced(), counted(30, 30)], "malformed_counts"),
        ([announced(), announced(source_leaf=2)], "duplicate_qp"),
    ],
)
def test_a_flow_that_cannot_be_judged_says_why(events: list[Event], code: str) -> None:
    found = told(("fabric", READY), *(("leaf1", event) for event in events))
    assert [x.reason_code for x in found if isinstance(x, FlowUnjudged)] == [code]
    assert not [x for x in found if isinstance(x, VerdictIssued)]


small = st.integers(-1, 4)
numbers = st.sampled_from([-1, 0, 1, 3, 90, 2**23, 2**24, 2**40])
paths = st.builds(
    PathsCompared,
    step=small, source_leaf=small, target_leaf=small, num_packets=numbers,
    expected=st.just(30.0), threshold=st.just(20.0), sensitivity=st.just(3.0),
    smallest_drop_frac=st.just(0.1),
    spines=st.lists(
        st.builds(SpineCount, spine=small, count=st.integers(0, 90),
                  margin=st.just(1.0), z=st.just(0.0), p_value=st.just(0.5),
                  failed=st.just(False)),
        max_size=4,
    ).map(tuple),
    is_conclusive=st.booleans(), reason_code=st.just(""),
    packets_still_needed=st.just(0), num_flows=st.just(1), started_ns=st.just(0),
    ended_ns=st.just(0),
)  # fmt: skip
events = st.one_of(
    st.builds(announced, source_leaf=small, target_leaf=small, dest_qp=numbers,
              first_psn=numbers, num_packets=numbers, sequence=numbers),
    st.lists(numbers, max_size=4).flatmap(
        lambda counts: st.builds(
            FlowCounted, step=small, dest_qp=numbers, counts=st.just(tuple(counts)),
            is_over=st.booleans(),
        )
    ),
    paths,
    st.builds(RoutingChanged, step=small, disabled=st.lists(
        st.sampled_from(["leaf0-spine1", "leaf9-spine9", "x"]), max_size=2).map(tuple)),
    st.builds(ExchangeWaited, step=small, waited_s=st.just(1.0),
              missing=st.just(())),
    st.builds(FabricEnded, step=small, why=st.just("over")),
)  # fmt: skip
sources = st.sampled_from(["leaf0", "leaf1", "leaf9", "fabric", "rank1", "x"])


@settings(deadline=None)
@given(st.lists(st.tuples(sources, events), max_size=20))
def test_no_events_crash_the_detection(items: list[tuple[str, Event]]) -> None:
    """Whom a verdict names, a conclusive comparison has seen failing."""
    found = told(("fabric", READY), *items)
    failing = {
        f"spine{cell.spine}"
        for event in found
        if isinstance(event, PathsCompared) and event.is_conclusive
        for cell in event.spines
        if cell.failed
    }
    for event in found:
        if isinstance(event, VerdictIssued):
            for name in event.verdict.blamed:
                assert name.partition(":")[0].rpartition("-")[2] in failing
