"""The fabric beside a run: counters of every path, links, and what they say. Pure.

Called by `run`. Repeats what leaves counted and compared and what the monitor said;
compares nothing itself. A path without a conclusive comparison is unmeasured, never
passing (DESIGN sec. 2.5).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.views import wording
from harness.views.source import RunFacts
from vocab.events import IncidentClosed, VerdictIssued
from vocab.fabric_events import (
    ExchangeEnded,
    FabricReady,
    FlowAnnounced,
    FlowCounted,
    PathsCompared,
    RoutingChanged,
    SpineCount,
)
from vocab.graph import LeafSpine, Path
from vocab.names import Direction, Link, leaf_name, parse_link, spine_name
from vocab.verdict import Kind, Scope, Verdict

PASSING, FAILING, UNMEASURED = "passing", "failing", "unmeasured"
BLAMED, SUSPECT, DOWN = "blamed", "suspect", "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineCell:
    """One path: its count beside lambda and the threshold, in packets."""

    spine: str
    state: str  # passing, failing, unmeasured, down
    count: int | None  # of the compared window; None: not compared
    z: float | None  # (count - lambda) / sqrt(lambda)
    z_text: str
    live: int | None  # of the flow under way; None: none is


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRow:
    """All paths from one leaf to another, from the newest comparison."""

    source_leaf: str
    target_leaf: str
    step: int | None  # of the comparison
    num_packets: int | None  # N
    expected: float | None  # lambda
    threshold: float | None  # lambda - s sqrt(lambda)
    sensitivity: float | None
    still_needed: int | None  # packets, for the drop rate that is wanted
    reason_code: str  # why it does not conclude; "" where it does
    live_text: str  # the flow under way; "" where none is
    cells: tuple[SpineCell, ...]

    @property
    def flagged(self) -> tuple[str, ...]:
        """Spines whose path fails."""
        return tuple(cell.spine for cell in self.cells if cell.state == FAILING)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """One directed link of the map."""

    link: str
    leaf: int
    spine: int
    direction: str
    state: str  # blamed, suspect, failing, passing, unmeasured, down
    num_failing: int  # measured paths over it
    num_measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricView:
    """What is known of the fabric now."""

    num_leaves: int
    num_spines: int
    about: str  # how it sprays, and what the leaves compare with
    wanted_drop_frac: float
    rows: tuple[PathRow, ...]
    links: tuple[LinkView, ...]
    words: tuple[str, ...]  # the intersection, a sentence for each finding
    num_paths: int  # usable ones
    num_measured: int
    extra_s: float | None  # simulated time that faults cost; None: no step yet
    delayed_s: float | None  # by which the job was held up for it


@dataclass(slots=True)
class _Seen:
    """The newest of everything."""

    disabled: tuple[str, ...]
    pairs: dict[int, FlowAnnounced] = field(default_factory=dict)  # by QP
    counted: dict[tuple[int, int], FlowCounted] = field(default_factory=dict)
    compared: dict[tuple[int, int], PathsCompared] = field(default_factory=dict)
    ended: list[ExchangeEnded] = field(default_factory=list)


def fabric(facts: RunFacts) -> FabricView | None:
    """The fabric of a run; None where it has none, or it has not started."""
    ready = next(
        (e.event for e in facts.events if isinstance(e.event, FabricReady)), None
    )
    if ready is None:
        return None
    graph = _graph(ready, ready.disabled)
    if graph is None:
        return None
    seen = _newest(facts, ready)
    graph = _graph(ready, seen.disabled) or graph
    states = _path_states(seen.compared.values(), graph)
    standing = _standing(facts)
    links = _links(graph, states, standing)
    usable = {p for s, t in _pairs(graph) for p in graph.paths(s, t)}
    return FabricView(
        num_leaves=graph.num_leaves,
        num_spines=graph.num_spines,
        about=_about(ready),
        wanted_drop_frac=ready.wanted_drop_frac,
        rows=tuple(
            _row(graph, pair, seen) for pair in sorted({*seen.compared, *seen.counted})
        ),
        links=links,
        words=_words(states, standing, len(usable)),
        num_paths=len(usable),
        num_measured=len(states),
        extra_s=sum(e.extra_s for e in seen.ended) if seen.ended else None,
        delayed_s=sum(e.delayed_s for e in seen.ended) if seen.ended else None,
    )


def _graph(ready: FabricReady, disabled: Sequence[str]) -> LeafSpine | None:
    """None where a damaged event names what cannot be; the monitor says so."""
    try:
        return LeafSpine(
            num_leaves=ready.num_leaves,
            num_spines=ready.num_spines,
            disabled=frozenset(parse_link(name) for name in disabled),
        )
    except ValueError:
        return None


def _newest(facts: RunFacts, ready: FabricReady) -> _Seen:
    seen = _Seen(disabled=ready.disabled)
    leaves = range(ready.num_leaves)
    for timed in facts.events:
        match timed.event:
            case FlowAnnounced(source_leaf=source, target_leaf=target) as event if (
                source in leaves and target in leaves
            ):
                seen.pairs[event.dest_qp] = event
            case FlowCounted(dest_qp=qp, counts=counts) as event if (
                qp in seen.pairs and len(counts) == ready.num_spines
            ):
                announced = seen.pairs[event.dest_qp]
                pair = (announced.source_leaf, announced.target_leaf)
                seen.counted[pair] = event
            case PathsCompared(source_leaf=source, target_leaf=target) as event if (
                source in leaves and target in leaves
            ):
                seen.compared[event.source_leaf, event.target_leaf] = event
            case RoutingChanged(disabled=disabled) if _graph(ready, disabled):
                seen.disabled = disabled
            case ExchangeEnded() as event:
                seen.ended.append(event)
    return seen


def _standing(facts: RunFacts) -> list[Verdict]:
    """Link verdicts that are neither superseded nor closed."""
    verdicts = [
        e.event.verdict for e in facts.events if isinstance(e.event, VerdictIssued)
    ]
    gone = {
        e.event.verdict_id for e in facts.events if isinstance(e.event, IncidentClosed)
    } | {verdict.supersedes for verdict in verdicts}
    return [v for v in verdicts if v.kind is Kind.LINK and v.verdict_id not in gone]


def _about(ready: FabricReady) -> str:
    most = max(ready.sensitivities, key=lambda item: item.num_spines, default=None)
    s = "no s is calibrated" if most is None else f"s = {most.s:.3g} for all spines"
    size = "the job's own" if ready.model == "real" else f"those of {ready.model}"
    return (
        f"{ready.num_leaves} leaves, {ready.num_spines} spines, {ready.policy} at load "
        f"{ready.load:g}, collectives of the size of {size}; {s}, concluding from "
        f"{ready.min_packets_per_spine} packets a spine on"
    ).replace("of the size of the job's own", "of the job's own size")


def _pairs(graph: LeafSpine) -> list[tuple[int, int]]:
    leaves = range(graph.num_leaves)
    return [(s, t) for s in leaves for t in leaves if s != t]


# --- rows ---------------------------------------------------------------------------


def _row(graph: LeafSpine, pair: tuple[int, int], seen: _Seen) -> PathRow:
    found, live = seen.compared.get(pair), seen.counted.get(pair)
    if live is not None and live.is_over:
        live = None
    by_spine = {} if found is None else {item.spine: item for item in found.spines}
    routed = {path.spine for path in graph.paths(*pair)}
    announced = None if live is None else seen.pairs[live.dest_qp]
    return PathRow(
        source_leaf=leaf_name(pair[0]),
        target_leaf=leaf_name(pair[1]),
        step=None if found is None else found.step,
        num_packets=None if found is None else found.num_packets,
        expected=None if found is None else found.expected,
        threshold=None if found is None else found.threshold,
        sensitivity=None if found is None else found.sensitivity,
        still_needed=None if found is None else found.packets_still_needed,
        reason_code="" if found is None else found.reason_code,
        live_text=""
        if live is None or announced is None
        else f"{sum(live.counts)} of {announced.num_packets} packets under way",
        cells=tuple(
            _cell(
                spine,
                by_spine.get(spine),
                is_routed=spine in routed,
                is_conclusive=found is not None and found.is_conclusive,
                live=None if live is None else live.counts[spine],
            )
            for spine in range(graph.num_spines)
        ),
    )


def _cell(
    spine: int,
    found: SpineCount | None,
    *,
    is_routed: bool,
    is_conclusive: bool,
    live: int | None,
) -> SpineCell:
    state = UNMEASURED
    if not is_routed:
        state = DOWN
    elif found is not None and is_conclusive:
        state = FAILING if found.failed else PASSING
    return SpineCell(
        spine=spine_name(spine),
        state=state,
        count=None if found is None else found.count,
        z=None if found is None else found.z,
        z_text=wording.ABSENT if found is None else f"{found.z:+.2f}",
        live=live,
    )


# --- links --------------------------------------------------------------------------


def _path_states(
    compared: Iterable[PathsCompared], graph: LeafSpine
) -> dict[Path, bool]:
    """Measured paths that are routed still, and whether they fail."""
    found = {}
    for event in compared:
        usable = set(graph.paths(event.source_leaf, event.target_leaf))
        for item in event.spines if event.is_conclusive else ():
            path = Path(event.source_leaf, item.spine, event.target_leaf)
            if path in usable:
                found[path] = item.failed
    return found


def _links(
    graph: LeafSpine, states: dict[Path, bool], standing: Sequence[Verdict]
) -> tuple[LinkView, ...]:
    over: dict[Link, list[bool]] = defaultdict(list)
    for path, failed in states.items():
        for link in path.links:
            over[link].append(failed)
    blamed = {name for v in standing for name in v.blamed}
    suspects = {name for v in standing for name in v.suspects}
    found = []
    for spine in range(graph.num_spines):
        for leaf in range(graph.num_leaves):
            for way in (Direction.UP, Direction.DOWN):
                link = Link(leaf, spine, way)
                name, outcomes = str(link), over.get(link, [])
                state = UNMEASURED
                if Link(leaf, spine) in graph.disabled:
                    state = DOWN
                elif {name, spine_name(spine)} & blamed:
                    state = BLAMED
                elif name in suspects:
                    state = SUSPECT
                elif outcomes:
                    state = FAILING if all(outcomes) else PASSING
                found.append(
                    LinkView(
                        link=name,
                        leaf=leaf,
                        spine=spine,
                        direction=str(way),
                        state=state,
                        num_failing=sum(outcomes),
                        num_measured=len(outcomes),
                    )
                )
    return tuple(found)


def _words(
    states: dict[Path, bool], standing: Sequence[Verdict], num_paths: int
) -> tuple[str, ...]:
    """What the failing paths have in common, spine by spine."""
    measured = f"{wording.k_of_n(len(states), num_paths)} usable paths are measured"
    failing = sorted(path for path, failed in states.items() if failed)
    if not failing:
        return (wording.sentence(f"{measured}; none fails"),)
    found = [wording.sentence(f"{measured}; {len(failing)} fail")]
    for spine in sorted({path.spine for path in failing}):
        here = [path for path in failing if path.spine == spine]
        shared = set.intersection(*(set(path.links) for path in here))
        common = wording.names(sorted(map(str, shared)), absent="no single link")
        num_over = sum(path.spine == spine for path in states)
        found.append(
            wording.sentence(
                f"{spine_name(spine)}: {wording.k_of_n(len(here), num_over)} measured "
                f"paths fail ({_named(here)}), and {common} "
                f"{'is' if len(shared) < 2 else 'are'} on all of them"
                + _said(spine, standing)
            )
        )
    return tuple(found)


def _named(paths: Sequence[Path]) -> str:
    names = [
        f"{leaf_name(p.source_leaf)} to {leaf_name(p.target_leaf)}" for p in paths[:6]
    ]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _said(spine: int, standing: Sequence[Verdict]) -> str:
    """What the monitor says of this spine."""
    name = spine_name(spine)
    here = [
        v
        for v in standing
        if any(name in (x, x.partition(":")[0].partition("-")[2])
               for x in (*v.blamed, *v.suspects))
    ]  # fmt: skip
    if not here:
        return "; the monitor names nobody (yet)"
    parts = []
    for v in here:
        if v.blamed:
            what = "the switch" if v.scope is Scope.SWITCH else "blamed:"
            parts.append(f"{what} {wording.names(v.blamed)}")
        else:
            parts.append(f"one of {wording.names(v.suspects)}; needed: {v.needed}")
    return "; " + "; ".join(parts)


def percent_of_expected(row: PathRow, count: int) -> float | None:
    """A count as per cent of lambda, on one scale for flows of any size."""
    if not row.expected or math.isnan(row.expected):
        return None
    return 100 * count / row.expected
