"""The monitor: one verdict per incident, superseded and closed as evidence comes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spraycheck.errors import ReportError
from spraycheck.monitor import Monitor, MonitorConfig, News
from spraycheck.report import PathsReported
from spraycheck.ztest import judge
from vocab.events import IncidentClosed, VerdictIssued
from vocab.graph import LeafSpine
from vocab.names import Direction, Link
from vocab.verdict import Action, Heading, Kind, Scope, State, Verdict, Votes

UP, DOWN = Direction.UP, Direction.DOWN
SECOND = 1_000_000_000
SHARE = 10_000
GRAPH = LeafSpine(num_leaves=4, num_spines=4)
AT_ONCE = MonitorConfig(confirmations=1)


def report(
    source: int,
    target: int,
    failed: Iterable[Link] = (),
    *,
    at_ns: int = 0,
    graph: LeafSpine = GRAPH,
    is_conclusive: bool = True,
) -> PathsReported:
    """What the target leaf reports while `failed` drop 5 % each."""
    paths = graph.paths(source, target)
    bad = set(failed)
    counts = [SHARE * 95 // 100 if bad & set(p.links) else SHARE for p in paths]
    return PathsReported(
        source_leaf=source,
        target_leaf=target,
        result=judge(counts, SHARE * len(paths), 3.0, spines=[p.spine for p in paths]),
        is_conclusive=is_conclusive,
        reason_code="" if is_conclusive else "too_few_packets",
        packets_still_needed=0,
        num_flows=1,
        started_ns=at_ns,
        ended_ns=at_ns,
    )


def feed(
    monitor: Monitor,
    pairs: Iterable[tuple[int, int]],
    failed: Iterable[Link] = (),
    at_ns: int = 0,
) -> News:
    news: News = ()
    for source, target in pairs:
        news += monitor.on_report(
            report(source, target, failed, at_ns=at_ns), at_ns, step=7
        )
    return news


def verdicts(news: News) -> list[Verdict]:
    return [item.verdict for item in news if isinstance(item, VerdictIssued)]


def test_a_lossy_uplink_is_blamed_once_with_its_numbers() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    bad = Link(0, 2, UP)
    news = feed(monitor, [(2, 1), (0, 3), (0, 1)], [bad])
    assert news == (
        VerdictIssued(
            verdict=Verdict(
                verdict_id="link-1",
                incident=1,
                kind=Kind.LINK,
                state=State.ATTRIBUTED,
                scope=Scope.LINK,
                reason_code="only_link_left",
                reason=(
                    "2 of 2 measured paths over leaf0-spine2:up lose packets; the "
                    "other link of leaf0-spine2-leaf1 carries other paths without loss"
                ),
                action=Action.DIAGNOSE_FABRIC,
                group="fabric",
                blamed=("leaf0-spine2:up",),
                heading=Heading.UP,
                statistic=verdicts(news)[0].statistic,
                votes=Votes(k=2, n=2),
                step=7,
            )
        ),
    )
    statistic = verdicts(news)[0].statistic
    assert statistic is not None
    assert (statistic.value, statistic.threshold) == (9_500.0, 9_700.0)
    assert feed(monitor, [(0, 1), (0, 2), (2, 1)], [bad]) == ()  # seen again


def test_a_link_is_blamed_when_a_second_pair_of_measurements_agrees() -> None:
    monitor = Monitor(graph=GRAPH)
    bad = [Link(0, 2, UP)]
    assert feed(monitor, [(2, 1), (0, 1)], bad) == ()
    (verdict,) = verdicts(feed(monitor, [(2, 1), (0, 1)], bad, at_ns=SECOND))
    assert verdict.blamed == ("leaf0-spine2:up",)


def test_doubt_takes_no_blame_back_and_contradiction_does() -> None:
    """leaf2 -> leaf1, which exonerated the downlink, is not measured any more."""
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    bad = [Link(0, 0, UP)]
    feed(monitor, [(2, 1), (0, 1)], bad)
    for turn in range(1, 8):
        assert feed(monitor, [(0, 1)], bad, at_ns=turn * SECOND) == ()
    assert monitor.on_finished(9 * SECOND) == ()


def test_a_ring_is_told_with_both_ends_and_settled_by_another_flow() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    bad = Link(1, 2, DOWN)
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert feed(monitor, ring, [bad]) == ()
    (first,) = verdicts(monitor.on_tick(10 * SECOND))
    assert first.state is State.GROUP_SCOPED
    assert first.blamed == ()
    assert first.suspects == ("leaf0-spine2:up", "leaf1-spine2:down")
    assert first.needed is not None
    assert first.needed.startswith("a measured flow over spine2 from leaf0")
    assert verdicts(monitor.on_tick(99 * SECOND)) == []

    feed(monitor, ring, [bad], at_ns=100 * SECOND)
    (second,) = verdicts(feed(monitor, [(0, 2)], [bad], at_ns=100 * SECOND))
    assert second.blamed == ("leaf1-spine2:down",)
    assert (second.verdict_id, second.supersedes) == ("link-1.b", "link-1")
    assert second.incident == first.incident


def test_at_the_end_nothing_is_held_back() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    feed(monitor, [(0, 1)], [Link(0, 2, UP)])
    (verdict,) = verdicts(monitor.on_finished(1))
    assert verdict.state is State.GROUP_SCOPED
    assert monitor.on_finished(2) == ()


def test_new_evidence_that_contradicts_supersedes_the_verdict() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    (first,) = verdicts(feed(monitor, [(2, 1), (0, 1)], [Link(0, 0, UP)]))
    assert first.blamed == ("leaf0-spine0:up",)
    # The downlink fails leaf2's path too, and leaf0 reaches leaf3: it was the downlink.
    bad = [Link(1, 0, DOWN)]
    news = feed(monitor, [(2, 1), (0, 3), (0, 1), (2, 3)], bad, at_ns=SECOND)
    assert verdicts(news)[-1].blamed == ("leaf1-spine0:down",)
    assert verdicts(news)[0].supersedes == "link-1"
    assert {verdict.incident for verdict in verdicts(news)} == {1}


def test_an_incident_is_closed_when_its_paths_pass_and_a_second_one_is_new() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    bad = [Link(0, 0, UP)]
    pairs = [(2, 1), (0, 1)]
    feed(monitor, pairs, bad)
    assert feed(monitor, pairs, at_ns=SECOND) == (
        IncidentClosed(
            verdict_id="link-1", step=7, why="its paths lose no packets any more"
        ),
    )
    (again,) = verdicts(feed(monitor, pairs, bad, at_ns=2 * SECOND))
    assert (again.verdict_id, again.supersedes) == ("link-2", None)


def test_a_dead_spine_is_one_verdict() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    bad = [Link(leaf, 3, way) for leaf in range(4) for way in (UP, DOWN)]
    pairs = [(s, t) for s in range(4) for t in range(4) if s != t]
    told = verdicts(feed(monitor, pairs, bad))
    assert [(item.scope, item.blamed) for item in told] == [(Scope.SWITCH, ("spine3",))]


def test_too_few_packets_blame_and_exonerate_nobody() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    news = monitor.on_report(report(0, 1, [Link(0, 0, UP)], is_conclusive=False), 0)
    assert news == ()
    assert monitor.evidence() == ()
    assert len(monitor.unmeasured()) == 48
    assert monitor.on_finished(1) == ()


def test_a_silent_leaf_is_missing_once_and_never_blamed() -> None:
    monitor = Monitor(graph=GRAPH, config=MonitorConfig(silent_after_ns=10 * SECOND))
    monitor.on_tick(0)
    for leaf in (0, 1, 3):
        monitor.on_heartbeat(leaf, 9 * SECOND)
    (verdict,) = verdicts(monitor.on_tick(10 * SECOND))
    assert verdict.state is State.INCOMPLETE_DATA
    assert verdict.missing == ("leaf2",)
    assert verdict.blamed == ()
    assert monitor.on_tick(11 * SECOND) == ()
    assert monitor.on_heartbeat(2, 12 * SECOND) == (
        IncidentClosed(
            verdict_id=verdict.verdict_id, step=None, why="the leaf reports again"
        ),
    )


def test_a_link_without_carrier_leaves_the_routing_and_the_evidence() -> None:
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    feed(monitor, [(2, 1), (0, 1)], [Link(0, 0, UP)])
    down = LeafSpine(num_leaves=4, num_spines=4, disabled=frozenset({Link(0, 0)}))
    (closed,) = monitor.on_routing_changed(down, 1)
    assert isinstance(closed, IncidentClosed)
    assert all(Link(0, 0, UP) not in item.path.links for item in monitor.evidence())
    assert monitor.on_report(report(0, 1, graph=down), 2) == ()


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [(9, 1, "leaf9 is not in the fabric"), (0, 9, "leaf9 is not in the fabric")],
)
def test_a_report_of_an_unknown_leaf_is_a_named_error(
    source: int, target: int, message: str
) -> None:
    larger = LeafSpine(num_leaves=16, num_spines=4)
    with pytest.raises(ReportError, match=message):
        Monitor(graph=GRAPH).on_report(report(source, target, graph=larger), 0)


def test_a_report_of_an_unknown_link_is_a_named_error() -> None:
    wider = LeafSpine(num_leaves=4, num_spines=5)
    with pytest.raises(ReportError, match=r"spines \(0, 1, 2, 3, 4\); allowed: 0, 1"):
        Monitor(graph=GRAPH).on_report(report(0, 1, graph=wider), 0)


links = st.builds(
    Link, st.integers(0, 3), st.integers(0, 3), st.sampled_from([UP, DOWN])
)
pairs = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda p: p[0] != p[1])


@given(
    st.lists(st.lists(pairs, max_size=12), min_size=2, max_size=6),
    st.sets(links, max_size=6),
    st.integers(0, 5),
)
def test_a_permanent_fault_never_accuses_a_healthy_link(
    rounds: list[list[tuple[int, int]]], failed: set[Link], onset: int
) -> None:
    """Whatever is measured in which order, and whenever the fault begins."""
    monitor = Monitor(graph=GRAPH, config=AT_ONCE)
    names = {str(link) for link in failed}
    news: News = ()
    for turn, measured in enumerate(rounds):
        active = failed if turn >= onset else set()
        news += feed(monitor, measured, active, at_ns=turn * 5 * SECOND)
        news += monitor.on_tick(turn * 5 * SECOND)
    news += monitor.on_finished(len(rounds) * 5 * SECOND)
    for verdict in verdicts(news):
        if verdict.scope is Scope.LINK:
            assert set(verdict.blamed) <= names
