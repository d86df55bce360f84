"""Run a simulation: at once, or up to a moment and on again.

    result = simulate(config, seed=7)
    simulation = Simulation(config, seed=7); simulation.advance(until_ns=1e6)

Chooses the kernel: `stream` where every flow is alone on its links, else `events`.
Called by experiments, calibration, and by whatever plays a job's flows beside the job.
Importing this imports numpy; numba is imported when something runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spraycheck.errors import SimulationError
from spraycheck.simulator.config import SimulatorConfig
from spraycheck.simulator.result import (
    Arrivals,
    Queues,
    Reordering,
    SimulationResult,
)

KERNELS = ("auto", "stream", "events")
_PS_PER_NS = 1_000
_MAX_SEED = (1 << 64) - 1


def simulate(
    config: SimulatorConfig, seed: int, *, kernel: str = "auto"
) -> SimulationResult:
    """Simulate until all is delivered or `limit_ns` is over.

    Args:
        seed: 0 .. 2^64 - 1; the same seed gives the same packets everywhere.
        kernel: stream (fast, see `why_not_stream`), events (all), or auto.

    Raises:
        SimulationError: seed or kernel is unknown, or that kernel cannot do this.
    """
    _check_seed(seed)
    if kernel not in KERNELS:
        raise SimulationError(f"kernel is {kernel!r}; allowed: {', '.join(KERNELS)}")
    why_not = why_not_stream(config)
    if kernel == "stream" and why_not is not None:
        raise SimulationError(f"kernel is 'stream'; allowed: 'events', for {why_not}")
    if kernel == "events" or why_not is not None:
        simulation = Simulation(config, seed)
        simulation.advance(config.limit_ns)
        return simulation.result()
    from spraycheck.simulator.stream import stream
    from spraycheck.simulator.world import make_world

    world = make_world(config, seed)
    for flow in range(len(config.flows)):
        stream(world, flow)
    return _result(config, seed, "stream", world)


def why_not_stream(config: SimulatorConfig) -> str | None:
    """What only the event kernel can do here; None: `stream` gives the same counts."""
    graph = config.fabric.graph
    for name in ("source_host", "target_host"):
        leaves = Counter(
            graph.leaf_of_host(getattr(flow, name)) for flow in config.flows
        )
        leaf, most = leaves.most_common(1)[0]
        if most > 1:
            return f"leaf{leaf} has {most} flows by {name}"
    if config.dcqcn is not None:
        return "dcqcn"
    if config.trace_packets:
        return "trace_packets"
    if any(flow.after for flow in config.flows):
        return "flows that start after others"
    return None


@dataclass(slots=True)
class Simulation:
    """A simulation that can be stopped at any moment, looked at, and continued."""

    config: SimulatorConfig
    seed: int
    is_over: bool = False
    _world: Any = field(init=False)
    _advance: Callable[[Any, int], int] = field(init=False)

    def __post_init__(self) -> None:
        _check_seed(self.seed)
        from spraycheck.simulator import events, world

        self._world = world.make_world(self.config, self.seed)
        self._advance = events.advance
        events.start(self._world)

    def advance(self, until_ns: float) -> bool:
        """Simulate up to that moment, at most to `limit_ns`; whether all is over."""
        from spraycheck.simulator.events import DONE, FULL
        from spraycheck.simulator.world import grown

        until = min(until_ns, self.config.limit_ns)
        status = FULL
        while status == FULL:
            status = self._advance(self._world, int(until * _PS_PER_NS))
            if status == FULL:
                self._world = grown(self._world)
        self.is_over = status == DONE or until >= self.config.limit_ns
        return self.is_over

    def result(self) -> SimulationResult:
        """Everything up to now; a copy that later steps do not change."""
        return _result(self.config, self.seed, "events", self._world)


def _check_seed(seed: int) -> None:
    if not 0 <= seed <= _MAX_SEED:
        raise SimulationError(f"seed is {seed}; allowed: 0..{_MAX_SEED}")


def _result(
    config: SimulatorConfig, seed: int, kernel: str, world: Any
) -> SimulationResult:
    flows, is_full = world.flows, kernel == "events"
    gone = flows["num_delivered"] + flows["num_lost"] + flows["num_overflowed"]
    up, down, to_host = _queues(config, world.ports)
    now_ps = world.fabric["now"][0] if is_full else flows["counted_at"].max()
    return SimulationResult(
        seed=seed,
        kernel=kernel,
        now_ns=float(now_ps) / _PS_PER_NS,
        is_complete=bool((flows["num_delivered"] == flows["num_packets"]).all()),
        counts=world.counts.copy(),
        sent=flows["num_sent"].copy(),
        delivered=flows["num_delivered"].copy(),
        lost=flows["num_lost"].copy(),
        overflowed=flows["num_overflowed"].copy(),
        retransmitted=flows["num_resent"].copy(),
        in_flight=flows["num_sent"] - gone,
        num_in_network=int(world.fabric["num_live"][0]),
        counted_ns=_times(flows["counted_at"]),
        delivered_ns=_times(flows["delivered_at"]) if is_full else None,
        rate_gbps=flows["rate"].copy(),
        notices=flows["num_notices"].copy(),
        up=up,
        down=down,
        to_host=to_host if is_full else None,
        reordering=_reordering(world) if is_full else None,
        arrivals=_arrivals(world) if config.trace_packets else None,
        state_bytes=world.num_bytes,
    )


def _times(moments: NDArray[np.int64]) -> NDArray[np.float64]:
    times: NDArray[np.float64] = np.where(moments < 0, np.nan, moments / _PS_PER_NS)
    return times


def _queues(
    config: SimulatorConfig, ports: NDArray[np.void]
) -> tuple[Queues, Queues, Queues]:
    graph = config.fabric.graph
    num = graph.num_leaves * graph.num_spines
    shape = (graph.num_leaves, graph.num_spines)
    return (
        _queue(ports[:num].reshape(shape)),
        _queue(ports[num : 2 * num].reshape(shape)),
        _queue(ports[2 * num :]),
    )


def _queue(ports: NDArray[np.void]) -> Queues:
    num_packets = ports["num_pkts"].copy()
    waits = np.full(num_packets.shape, np.nan)
    np.divide(ports["sum_wait"], num_packets, out=waits, where=num_packets > 0)
    return Queues(
        num_packets=num_packets,
        mean_wait_ns=waits / _PS_PER_NS,
        max_bytes=ports["max_backlog"] / ports["byte_ps"],
        num_lost=ports["num_lost"].copy(),
    )


def _reordering(world: Any) -> Reordering:
    return Reordering(
        max_extent_pkts=world.flows["max_extent"].copy(),
        histogram=world.extents[:, :-1].copy(),
    )


def _arrivals(world: Any) -> Arrivals:
    rows = world.trace[: int(world.fabric["num_traced"][0])]
    return Arrivals(
        at_ns=rows["at"] / _PS_PER_NS,
        flow=rows["flow"].copy(),
        seq=rows["seq"].copy(),
        spine=rows["spine"].copy(),
    )
