"""Counts of one measured flow, for many seeds: what calibration and experiments need.

    counts = spray_counts(Sprayed(num_spines=8, num_packets=500_000, load=0.98,
                                  up_drop_frac={3: 0.004}), seeds=range(20))

A flow of a ring shares no port with others, so it is simulated alone, by `stream`;
seeds run on all cores. Decides nothing about the counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spraycheck.dataplane.base import FULL_PACKET_BYTES
from spraycheck.errors import SimulationError
from spraycheck.simulator.config import FabricConfig, Flow, SimulatorConfig
from spraycheck.simulator.loss import LinkLoss
from spraycheck.simulator.run import simulate
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

_SOURCE, _TARGET = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sprayed:
    """A flow from leaf0 to leaf1, alone on its links, and what its paths lose."""

    num_spines: int  # k, all usable
    num_packets: int  # N
    load: float  # of the uplinks: rate of the flow over k links, above 0
    policy: str = "jsq2"
    burst_pkts: int = 1  # back to back at `burst_load`, then a pause
    burst_load: float = 1.0  # load while a burst lasts; no effect without bursts
    up_drop_frac: Mapping[int, float] = field(default_factory=dict)  # by spine
    down_drop_frac: Mapping[int, float] = field(default_factory=dict)
    mean_burst_loss_pkts: float = 1.0  # of all losses, see LinkLoss
    packet_bytes: int = FULL_PACKET_BYTES
    link_gbps: float = 100.0
    retransmit_after_ns: int = 50_000

    def config(self) -> SimulatorConfig:
        """The same as a simulation, which can also run on the event kernel.

        Raises:
            SimulationError: a field is out of range.
        """
        if self.num_spines < 1:
            raise SimulationError(
                f"num_spines is {self.num_spines}; allowed: 1 or more"
            )
        if not 0 < self.load <= 100:
            raise SimulationError(f"load is {self.load}; allowed: above 0, at most 100")
        if self.burst_pkts > 1 and self.burst_load < self.load:
            raise SimulationError(
                f"burst_load is {self.burst_load}; allowed: load ({self.load}) or more"
            )
        whole_gbps = self.link_gbps * self.num_spines
        peak = self.burst_load if self.burst_pkts > 1 else self.load
        flow = Flow(
            source_host=_SOURCE,
            target_host=_TARGET,
            num_packets=self.num_packets,
            measured=True,
            packet_bytes=self.packet_bytes,
            rate_gbps=self.load * whole_gbps,
            burst_pkts=self.burst_pkts,
        )
        return SimulatorConfig(
            fabric=FabricConfig(
                graph=LeafSpine(num_leaves=2, num_spines=self.num_spines),
                policy=self.policy,
                link_gbps=self.link_gbps,
                host_gbps=peak * whole_gbps,
            ),
            flows=(flow,),
            losses=(
                *self._losses(Direction.UP, _SOURCE, self.up_drop_frac),
                *self._losses(Direction.DOWN, _TARGET, self.down_drop_frac),
            ),
            retransmit_after_ns=self.retransmit_after_ns,
        )

    def _losses(
        self, direction: Direction, leaf: int, drop_frac: Mapping[int, float]
    ) -> list[LinkLoss]:
        return [
            LinkLoss(
                link=Link(leaf, spine, direction),
                drop_frac=chance,
                mean_burst_pkts=self.mean_burst_loss_pkts,
            )
            for spine, chance in drop_frac.items()
        ]


def spray_counts(
    sprayed: Sprayed, seeds: Sequence[int], *, num_threads: int | None = None
) -> NDArray[np.int64]:
    """Packets that the target leaf counts from each spine; shape (seeds, spines).

    Args:
        num_threads: None: one per core. The counts do not depend on it.

    Raises:
        SimulationError: a field or seed is out of range, or the flow did not end
            within the simulated time.
    """
    config = sprayed.config()

    def counts_of(seed: int) -> NDArray[np.int64]:
        result = simulate(config, seed)
        if not result.is_complete:
            raise SimulationError(
                f"seed {seed}: {result.delivered[0]} of {sprayed.num_packets} packets "
                f"arrived in {config.limit_ns} ns; allowed: paths that deliver"
            )
        counts: NDArray[np.int64] = result.counts[0]
        return counts

    if not seeds:
        return np.zeros((0, sprayed.num_spines), dtype=np.int64)
    first = counts_of(seeds[0])  # compiles once, before there are threads
    with ThreadPoolExecutor(num_threads or os.cpu_count() or 1) as pool:
        return np.stack([first, *pool.map(counts_of, seeds[1:])])
