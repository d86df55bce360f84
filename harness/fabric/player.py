"""Plays the job's collectives, step by step, on the simulated fabric.

    begin(step, bytes) ─► who announces what; the halving stages are under way
    middle()           ─► counters while the step is not over
    finish()           ─► counters at its end, and what it cost

Called by `simulated` beside a job and by `replay` without one. It owns selection (one
measured flow per leaf, SprayCheck "flow selection") and knows the faults; it compares
nothing and blames nobody. Same settings, faults and seed give the same packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.fabric.collective import Transfer, pair_of, stages, transfers
from harness.fabric.conditions import Conditions, conditions
from harness.fabric.models import MODELS, REAL
from harness.fabric.settings import SimulatedFabric
from harness.fabric.spoofing import spoofed_counts
from injectors.fabric_effect import Effect, FabricTrace
from spraycheck.announcement import Announcement
from spraycheck.psn import PSN_MODULUS
from spraycheck.selection import FlowSelector
from spraycheck.simulator import (
    FabricConfig,
    Flow,
    SimulationResult,
    SimulatorConfig,
    simulate,
)
from vocab.graph import LeafSpine

Pair = tuple[int, int]
_FIRST_QP = 256
_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A step's collectives were announced."""

    step: int
    graph: LeafSpine  # as routing sees it
    announced: tuple[Announcement, ...]  # of every flow


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counters of one measured flow, one per spine."""

    source_leaf: int
    target_leaf: int
    dest_qp: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A step's collectives are over."""

    counted: tuple[Counted, ...]
    num_packets: int
    simulated_s: float
    extra_s: float  # more than without a fault
    trace: FabricTrace


@dataclass(slots=True)
class _Step:
    """The step under way."""

    step: int
    seed: int
    conditions: Conditions
    parts: tuple[tuple[Flow, ...], ...]
    measured: frozenset[Pair]
    num_packets: int
    counts: dict[Pair, Any]
    time_s: float = 0.0
    free_s: float = 0.0  # the same without a fault
    results: list[SimulationResult] = field(default_factory=list)
    lost_at_hosts: dict[str, int] = field(default_factory=dict)
    num_played: int = 0  # stages


class Player:
    """The fabric of one job over its steps."""

    def __init__(self, settings: SimulatedFabric, num_ranks: int, seed: int) -> None:
        self._settings = settings
        self._graph = settings.graph(num_ranks)
        self._seed = seed
        self._selectors = [
            FlowSelector(leaf=leaf, num_leaves=self._graph.num_leaves)
            for leaf in range(self._graph.num_leaves)
        ]
        self._sequence = 0
        self._next_psn: dict[Pair, int] = {}
        self._now: _Step | None = None

    def begin(self, step: int, job_bytes: int, effects: Sequence[Effect]) -> Begun:
        """Announce the flows of a step; half of its stages are played.

        Raises:
            SimulationError: two leaves have no path left between them.
            WireError: a flow is too long to be announced.
        """
        seed = np.random.SeedSequence([self._seed, self._settings.seed, step])
        now = conditions(self._graph, effects)
        parts = stages(now.graph, self._scaled(job_bytes))
        moved = transfers(now.graph, parts)
        self._sequence += 1
        announced = tuple(self._announce(item) for item in moved)
        measured = self._select(announced)
        num_spines = self._graph.num_spines
        self._now = _Step(
            step=step,
            seed=int(seed.generate_state(1, np.uint64)[0]),
            conditions=now,
            parts=parts,
            measured=measured,
            num_packets=sum(item.num_packets for item in moved),
            counts={pair: np.zeros(num_spines, dtype=np.int64) for pair in measured},
        )
        self._play_to(len(parts) // 2)
        return Begun(step=step, graph=now.graph, announced=announced)

    def middle(self) -> tuple[Counted, ...]:
        """Counters of the measured flows now."""
        assert self._now is not None
        return tuple(
            Counted(
                source_leaf=pair[0],
                target_leaf=pair[1],
                dest_qp=self._qp(pair),
                counts=tuple(int(count) for count in self._now.counts[pair]),
            )
            for pair in sorted(self._now.measured)
        )

    def finish(self) -> Played:
        """Play the rest of the step."""
        now = self._now
        assert now is not None
        self._play_to(len(now.parts))
        sent, counted = self._spoof(now)
        found = self.middle()
        for source, target in now.measured:
            self._selectors[source].on_flow_ended(target, self._qp((source, target)))
        self._now = None
        return Played(
            counted=found,
            num_packets=now.num_packets,
            simulated_s=now.time_s,
            extra_s=max(0.0, now.time_s - now.free_s),
            trace=_trace(now, sent, counted),
        )

    # --- announcing ---------------------------------------------------------------

    def _scaled(self, job_bytes: int) -> int:
        name = self._settings.model
        return job_bytes if name == REAL else MODELS[name].gradient_bytes

    def _announce(self, moved: Transfer) -> Announcement:
        pair = (moved.source_leaf, moved.target_leaf)
        first = self._next_psn.get(pair, 0)
        self._next_psn[pair] = (first + moved.num_packets) % PSN_MODULUS
        return Announcement(
            source_leaf=moved.source_leaf,
            target_leaf=moved.target_leaf,
            dest_qp=self._qp(pair),
            first_psn=first,
            num_packets=moved.num_packets,
            sequence=self._sequence,
        )

    def _qp(self, pair: Pair) -> int:
        return _FIRST_QP + pair[0] * self._graph.num_leaves + pair[1]

    def _select(self, announced: Sequence[Announcement]) -> frozenset[Pair]:
        """Whom each leaf measures: a flow selected before, or now, as it is announced.

        One selected when another ended is measured from its next announcement on.
        """
        measured = set()
        for item in announced:
            selector = self._selectors[item.source_leaf]
            selector.on_announcement(item)
            chosen = selector.selected
            if chosen is not None and chosen.target_leaf == item.target_leaf:
                measured.add((item.source_leaf, item.target_leaf))
        return frozenset(measured)

    # --- playing ------------------------------------------------------------------

    def _play_to(self, end: int) -> None:
        now = self._now
        assert now is not None
        for number in range(now.num_played, end):
            config = self._config(now, now.parts[number], now.conditions)
            seed = (now.seed + number) % (1 << 64)
            result = simulate(config, seed)
            now.results.append(result)
            now.time_s += _ends_s(result, self._graph.num_leaves)
            for place, flow in enumerate(now.parts[number]):
                pair = pair_of(self._graph, flow)
                if pair in now.measured:
                    now.counts[pair] += result.counts[place]
            now.free_s += self._free_s(now, number, seed, now.time_s)
        now.num_played = end

    def _free_s(self, now: _Step, number: int, seed: int, time_s: float) -> float:
        """How long this stage takes on the fabric without its faults, same seed."""
        if not now.conditions.cost_time:
            return _ends_s(now.results[-1], self._graph.num_leaves)
        clean = Conditions(graph=self._graph)
        config = self._config(now, now.parts[number], clean)
        return _ends_s(simulate(config, seed), self._graph.num_leaves)

    def _config(
        self, now: _Step, part: Sequence[Flow], what: Conditions
    ) -> SimulatorConfig:
        """One stage: the collective's flows first, then those of other jobs."""
        settings = self._settings
        flows = [self._paced(now, flow, number, what)
                 for number, flow in enumerate(part)]  # fmt: skip
        whole = settings.link_gbps * settings.spines
        peak = settings.load if settings.burst_pkts == 1 else 1.0
        for other in what.competing:
            share = other.load_frac / settings.load
            flows.append(
                Flow(
                    source_host=self._graph.hosts_per_leaf * other.source_leaf + 1,
                    target_host=self._graph.hosts_per_leaf * other.target_leaf + 1,
                    num_packets=max(1, round(part[0].num_packets * share)),
                    rate_gbps=min(other.load_frac, peak) * whole,
                )
            )
        return SimulatorConfig(
            fabric=FabricConfig(
                graph=what.graph,
                policy=settings.policy,
                link_gbps=settings.link_gbps,
                host_gbps=peak * whole,
            ),
            flows=tuple(flows),
            losses=what.losses,
        )

    def _paced(self, now: _Step, flow: Flow, number: int, what: Conditions) -> Flow:
        """A flow at the load of its usable uplinks, with what its hosts lose."""
        source, target = pair_of(self._graph, flow)
        num_paths = len(what.graph.paths(source, target))
        whole = self._settings.link_gbps * self._settings.spines
        # Rounded, a share of all spines may come out above the whole.
        rate = self._settings.load * min(num_paths / self._settings.spines, 1.0) * whole
        again = 0
        for loss in what.host_losses:
            if loss.host != (target if loss.direction == "down" else source):
                continue
            draw = np.random.default_rng([now.seed, now.num_played, number])
            lost = int(draw.negative_binomial(flow.num_packets, 1 - loss.drop_frac))
            name = f"host{loss.host}:{loss.direction}"
            now.lost_at_hosts[name] = now.lost_at_hosts.get(name, 0) + lost
            # What is lost behind the last switch was counted, and comes once more.
            again += lost if loss.direction == "down" else 0
        return replace(
            flow,
            num_packets=flow.num_packets + again,
            measured=(source, target) in now.measured,
            rate_gbps=rate if num_paths else None,
            burst_pkts=self._settings.burst_pkts,
        )

    def _spoof(self, now: _Step) -> tuple[int, int]:
        """Spoofed packets of the step: how many were sent, how many were counted."""
        sent = counted = 0
        for item in now.conditions.spoofed:
            pair = (item.source_leaf, item.target_leaf)
            counts = spoofed_counts(
                now.conditions.graph, pair, self._qp(pair), item.num_packets, now.seed
            )
            sent, counted = sent + item.num_packets, counted + sum(counts)
            if pair in now.measured:
                now.counts[pair] += np.array(counts)
        return sent, counted


def _ends_s(result: SimulationResult, num_flows: int) -> float:
    """When the collective's last packet has arrived; those of other jobs may go on."""
    return float(np.nanmax(result.counted_ns[:num_flows])) / _NS_PER_S


def _trace(now: _Step, spoofed_sent: int, spoofed_counted: int) -> FabricTrace:
    carried: dict[str, int] = {}
    lost: dict[str, int] = {}
    competing = 0
    for result in now.results:
        for queues, way in ((result.up, "up"), (result.down, "down")):
            for leaf, spine in np.argwhere(queues.num_packets > 0):
                name = f"leaf{leaf}-spine{spine}:{way}"
                number = int(queues.num_packets[leaf, spine])
                carried[name] = carried.get(name, 0) + number
                gone = int(queues.num_lost[leaf, spine])
                if gone:
                    lost[name] = lost.get(name, 0) + gone
        competing += int(result.counts[len(now.parts[0]) :].sum())
    return FabricTrace(
        step=now.step,
        carried=carried,
        lost=lost,
        without_carrier=frozenset(map(str, now.conditions.without_carrier)),
        competing=competing,
        lost_at_hosts=dict(now.lost_at_hosts),
        spoofed_sent=spoofed_sent,
        spoofed_counted=spoofed_counted,
    )
