"""Carries a job's steps over the played fabric, and tells all that can be seen of it.

    begin ─► RoutingChanged, FlowAnnounced, FlowCounted (half)
    finish ─► FlowCounted (all), ExchangeEnded          end ─► FabricEnded

Called by `simulated`, with files behind it, and by `replay`, with a list. It knows when
which event is written, and leaves packets to `player` and blame to `detection`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from harness.fabric.detection import FABRIC
from harness.fabric.player import Begun, Counted, Player
from harness.fabric.settings import SimulatedFabric
from injectors.fabric_driver import FabricDriver
from vocab.event_base import Event
from vocab.fabric_events import (
    ExchangeEnded,
    ExchangeWaited,
    FabricEnded,
    FabricReady,
    FlowAnnounced,
    FlowCounted,
    RoutingChanged,
    Sensitivity,
)
from vocab.names import leaf_name


class Sink(Protocol):
    """Where events go."""

    def write(self, source: str, event: Event) -> None:
        """Append an event to those of a source, and what follows from it."""


@dataclass(slots=True)
class Fabric:
    """A fabric that carries one job."""

    settings: SimulatedFabric
    player: Player
    driver: FabricDriver
    journal: Sink
    disabled: tuple[str, ...] = ()
    step: int = 0
    wall_s: float = field(default=0.0)

    def ready(
        self,
        num_ranks: int,
        found: tuple[Sensitivity, ...],
        *,
        startup_s: float,
        pid: int,
    ) -> None:
        """Say what the leaves compare with."""
        graph = self.settings.graph(num_ranks)
        self.disabled = self.settings.disabled
        self.journal.write(
            FABRIC,
            FabricReady(
                num_leaves=graph.num_leaves,
                num_spines=graph.num_spines,
                policy=self.settings.policy,
                load=self.settings.load,
                burst_pkts=self.settings.burst_pkts,
                model=self.settings.model,
                min_packets_per_spine=self.settings.min_packets_per_spine,
                wanted_drop_frac=self.settings.wanted_drop_frac,
                patience_s=self.settings.patience_s,
                sensitivities=found,
                disabled=self.settings.disabled,
                pid=pid,
                startup_s=startup_s,
            ),
        )

    def begin(self, step: int, job_bytes: int) -> None:
        """Every rank has announced its flows: play them half."""
        began = time.perf_counter()
        self.step = step
        begun = self.player.begin(step, job_bytes, self.driver.effects(step))
        self._route(begun)
        for item in begun.announced:
            self.journal.write(
                leaf_name(item.target_leaf),
                FlowAnnounced(
                    step=step,
                    source_leaf=item.source_leaf,
                    target_leaf=item.target_leaf,
                    dest_qp=item.dest_qp,
                    first_psn=item.first_psn,
                    num_packets=item.num_packets,
                    sequence=item.sequence,
                ),
            )
        self._count(self.player.middle(), is_over=False)
        self.wall_s = time.perf_counter() - began

    def finish(self, job_bytes: int) -> float:
        """Every rank waits: play the rest; returns how long the job is held up."""
        began = time.perf_counter()
        played = self.player.finish()
        self.driver.on_played(played.trace)
        self._count(played.counted, is_over=True)
        delayed_s = played.extra_s * self.settings.dilation
        self.journal.write(
            FABRIC,
            ExchangeEnded(
                step=self.step,
                job_bytes=job_bytes,
                num_packets=played.num_packets,
                simulated_s=played.simulated_s,
                extra_s=played.extra_s,
                delayed_s=delayed_s,
                wall_s=self.wall_s + time.perf_counter() - began,
            ),
        )
        return delayed_s

    def wait(self, waited_s: float, missing: tuple[int, ...]) -> None:
        """The step does not go on."""
        self.journal.write(
            FABRIC,
            ExchangeWaited(step=self.step, waited_s=waited_s, missing=missing),
        )

    def end(self, why: str) -> None:
        """Nothing more comes."""
        self.driver.finish(self.step)
        self.journal.write(FABRIC, FabricEnded(step=self.step, why=why))

    def _route(self, begun: Begun) -> None:
        disabled = tuple(sorted(map(str, begun.graph.disabled)))
        if disabled != tuple(sorted(self.disabled)):
            self.disabled = disabled
            self.journal.write(
                FABRIC, RoutingChanged(step=begun.step, disabled=disabled)
            )

    def _count(self, counted: tuple[Counted, ...], *, is_over: bool) -> None:
        for item in counted:
            self.journal.write(
                leaf_name(item.target_leaf),
                FlowCounted(
                    step=self.step,
                    dest_qp=item.dest_qp,
                    counts=item.counts,
                    is_over=is_over,
                ),
            )
