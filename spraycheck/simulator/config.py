"""What is simulated: a leaf-spine fabric, the flows on it, and what goes wrong.

Frozen values, checked here and nowhere else; times in ns, rates in Gbit/s, sizes in
bytes on the wire. Called by `run`, `spray`, `traffic` and whoever describes an
experiment; computes nothing and imports neither numpy nor numba.

    host ─► leaf ─[uplink queue]─► spine ─[downlink queue]─► leaf ─[host queue]─► host
            sprays here                                      counts here
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from spraycheck.dataplane.base import FULL_PACKET_BYTES
from spraycheck.dataplane.spray import POLICIES
from spraycheck.errors import SimulationError
from spraycheck.simulator.loss import LinkLoss
from vocab.graph import LeafSpine
from vocab.names import Link

ARRIVALS = ("smooth", "poisson")
# The event queue keeps 47 bits of picoseconds beside 16 bits that break ties.
MAX_LIMIT_NS = 100_000_000_000
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Dcqcn:
    """Congestion control of all flows (Zhu et al. 2015); defaults of that paper."""

    mark_from_bytes: int = 100_000  # K_min at 100 Gbit/s links
    mark_all_bytes: int = 400_000  # K_max
    mark_most_frac: float = 0.2  # P_max, the marking just below K_max
    notify_every_ns: int = 50_000  # at most one CNP per flow in this time
    decay_every_ns: int = 55_000  # alpha decays without a CNP
    rise_every_ns: int = 55_000
    gain: float = 1 / 256  # g
    fast_rises: int = 5  # F: halvings of the gap before the target rises
    add_gbps: float = 0.4  # R_AI
    hyper_gbps: float = 4.0  # R_HAI
    least_gbps: float = 0.1

    def __post_init__(self) -> None:
        _at_least(self, 1, "mark_from_bytes", "notify_every_ns", "decay_every_ns")
        _at_least(self, 1, "rise_every_ns", "fast_rises")
        _above(self, 0, "add_gbps", "hyper_gbps", "least_gbps")
        if self.mark_all_bytes <= self.mark_from_bytes:
            allowed = f"above mark_from_bytes ({self.mark_from_bytes})"
            raise _error(self, "mark_all_bytes", allowed)
        for name in ("mark_most_frac", "gain"):
            if not 0 < getattr(self, name) <= 1:
                raise _error(self, name, "above 0, at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDelay:
    """A directed link that is longer than the others."""

    link: Link
    extra_ns: int

    def __post_init__(self) -> None:
        _at_least(self, 0, "extra_ns")
        if self.link.direction is None:
            raise _error(self, "link", "a directed one, such as leaf0-spine3:up")


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricConfig:
    """Switches and links. Links that are down for their carrier: `graph.disabled`."""

    graph: LeafSpine
    policy: str = "jsq2"  # random, jsq2, jsq (all), round_robin
    link_gbps: float = 100.0  # leaf to spine and back (SprayCheck "evaluation")
    host_gbps: float = 100.0  # host to leaf and back
    delay_ns: int = 1_000  # of each link
    delays: tuple[LinkDelay, ...] = ()
    queue_bytes: int = 10 * _MEBIBYTE  # of each port and class; the rest is dropped
    prioritize: bool = True  # measured flows on top at the switch that sprays them
    # What a measured flow on top is sprayed by: True: queues of its packets as if they
    # were alone (`dataplane`); False: its bytes in the real queue of its class, which
    # also wait for the others' packet in service, so that others disturb it a little.
    virtual_queues: bool = True

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise _error(self, "policy", ", ".join(POLICIES))
        _above(self, 0, "link_gbps", "host_gbps")
        _at_least(self, 0, "delay_ns")
        _at_least(self, 1, "queue_bytes")
        for delay in self.delays:
            check_link(self.graph, delay.link, "delays")

    @property
    def load(self) -> float:
        """Of the uplinks when one host of a leaf sends at its full rate."""
        return self.host_gbps / (self.link_gbps * self.graph.num_spines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The packets of one queue pair, from one host to a host of another leaf."""

    source_host: int
    target_host: int
    num_packets: int
    measured: bool = False
    packet_bytes: int = FULL_PACKET_BYTES
    start_ns: int = 0
    after: tuple[int, ...] = ()  # flows (by position) that end before this one starts
    rate_gbps: float | None = None  # None: as fast as the host's link
    burst_pkts: int = 1  # sent at the host's rate; then a pause that keeps rate_gbps
    arrivals: str = "smooth"  # or poisson

    def __post_init__(self) -> None:
        _at_least(self, 1, "num_packets", "packet_bytes", "burst_pkts")
        _at_least(self, 0, "source_host", "target_host", "start_ns")
        if self.num_packets >= 1 << 31:
            raise _error(self, "num_packets", "below 2^31")
        if self.rate_gbps is not None:
            _above(self, 0, "rate_gbps")
        if self.arrivals not in ARRIVALS:
            raise _error(self, "arrivals", ", ".join(ARRIVALS))
        if self.arrivals == "poisson" and self.burst_pkts != 1:
            raise _error(self, "burst_pkts", "1 with poisson arrivals")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorConfig:
    """One simulation, complete but for its seed."""

    fabric: FabricConfig
    flows: tuple[Flow, ...]
    losses: tuple[LinkLoss, ...] = ()
    dcqcn: Dcqcn | None = None  # None: flows keep their rates
    # Selective repeat: a lost packet is sent again this long after it was sent, never
    # before it could have arrived; a round trip with its queues.
    retransmit_after_ns: int = 50_000
    limit_ns: int = 20_000_000_000  # simulated; a flow may never end (black holes)
    trace_packets: int = 0  # so many arrivals at target leaves are kept one by one

    def __post_init__(self) -> None:
        _at_least(self, 0, "retransmit_after_ns", "trace_packets")
        if not 1 <= self.limit_ns <= MAX_LIMIT_NS:
            raise _error(self, "limit_ns", f"1..{MAX_LIMIT_NS}")
        if not self.flows:
            raise _error(self, "flows", "at least one")
        links = [loss.link for loss in self.losses]
        for link in links:
            check_link(self.fabric.graph, link, "losses")
            if links.count(link) > 1:
                raise SimulationError(f"losses name {link} twice; allowed: once")
        for number, flow in enumerate(self.flows):
            self._check_flow(number, flow)

    def _check_flow(self, number: int, flow: Flow) -> None:
        graph = self.fabric.graph
        for name in ("source_host", "target_host"):
            if getattr(flow, name) >= graph.num_hosts:
                allowed = f"0..{graph.num_hosts - 1}"
                raise _error(flow, name, allowed, f"flow {number}: ")
        source = graph.leaf_of_host(flow.source_host)
        target = graph.leaf_of_host(flow.target_host)
        if source == target:
            allowed = f"a host of another leaf than leaf{source}"
            raise _error(flow, "target_host", allowed, f"flow {number}: ")
        if not graph.paths(source, target):
            raise SimulationError(
                f"flow {number}: no path from leaf{source} to leaf{target}; "
                "allowed: at least one spine with both links usable"
            )
        if flow.rate_gbps is not None and flow.rate_gbps > self.fabric.host_gbps:
            allowed = f"at most host_gbps ({self.fabric.host_gbps})"
            raise _error(flow, "rate_gbps", allowed, f"flow {number}: ")
        # Only earlier flows: then no two flows can wait for each other.
        if any(not 0 <= other < number for other in flow.after):
            allowed = f"earlier flows, 0..{number - 1}" if number else "nothing"
            raise _error(flow, "after", allowed, f"flow {number}: ")


def check_link(graph: LeafSpine, link: Link, field: str) -> None:
    """Raise SimulationError unless `link` is a directed, usable link of the graph."""
    known = link.leaf < graph.num_leaves and link.spine < graph.num_spines
    if link.direction is None or not known:
        raise SimulationError(
            f"{field}: {link} is unknown; allowed: leaf0..leaf{graph.num_leaves - 1}, "
            f"spine0..spine{graph.num_spines - 1}, :up or :down"
        )
    if Link(link.leaf, link.spine) in graph.disabled:
        raise SimulationError(f"{field}: {link} is disabled; allowed: a usable link")


def _at_least(owner: Any, least: int, *names: str) -> None:
    for name in names:
        if getattr(owner, name) < least:
            raise _error(owner, name, f"{least} or more")


def _above(owner: Any, bound: float, *names: str) -> None:
    for name in names:
        if not bound < getattr(owner, name) < math.inf:
            raise _error(owner, name, f"above {bound}, finite")


def _error(owner: Any, name: str, allowed: str, where: str = "") -> SimulationError:
    value = getattr(owner, name)
    return SimulationError(f"{where}{name} is {value!r}; allowed: {allowed}")
