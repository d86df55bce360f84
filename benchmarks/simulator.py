"""How many packets a second the SprayCheck simulator carries (issue 7).

Run by `registry`. One core: an 8 x 8 ring over JSQ(2) on the stream kernel and on the
event kernel, and a ring with a competing flow per rank under DCQCN, which only the
event kernel can do. Compilation is over before the clock starts.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.claim import Claim, compared

if TYPE_CHECKING:
    from spraycheck.simulator import SimulatorConfig

GOAL_STREAM = 1e7
GOAL_EVENTS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Packets of each flow."""

    stream_packets: int = 2_000_000
    event_packets: int = 60_000


def claims(size: Size | None = None) -> Iterator[Claim]:
    """The claims of issue 7 on speed; the event kernel beside them on the same ring."""
    from spraycheck.simulator import Dcqcn, FabricConfig, SimulatorConfig, ring
    from vocab.graph import LeafSpine

    size = size or Size()
    graph = LeafSpine(num_leaves=8, num_spines=8)
    alone = SimulatorConfig(
        fabric=FabricConfig(graph=graph),
        flows=ring(graph, num_packets=size.stream_packets, num_qps=1),
    )
    shorter = replace(
        alone, flows=ring(graph, num_packets=size.event_packets, num_qps=1)
    )
    crowded = replace(
        alone,
        flows=ring(graph, num_packets=size.event_packets, num_qps=2),
        dcqcn=Dcqcn(),
    )
    stream = _rate(alone, "stream")
    yield _claim("8 x 8 ring, JSQ(2)", stream, GOAL_STREAM)
    events = _rate(shorter, "events")
    yield compared(
        name="the same ring on the event kernel", value=events, unit="packets/s",
        baseline=stream, note="baseline: the stream kernel, same run",
    )  # fmt: skip
    yield _claim("8 x 8 ring, JSQ(2), DCQCN and a competing flow a rank",
                 _rate(crowded, "events"), GOAL_EVENTS)  # fmt: skip
    congested = congest(crowded)
    yield _claim("the same at load 0.9, with flows that make DCQCN react",
                 _rate(congested, "events"), GOAL_EVENTS)  # fmt: skip
    for what, config in (("stream", alone), ("events", congested)):
        yield compared(
            name=f"peak memory of the {what} kernel", value=_peak_mib(config),
            unit="MiB", baseline=_peak_mib(_eighth(config)), at_most=1.1,
            note="baseline: an eighth of the packets",
        )  # fmt: skip


def congest(config: SimulatorConfig) -> SimulatorConfig:
    """Faster hosts, every second of which also sends where the ring sends already."""
    flows = config.flows
    num_hosts = config.fabric.graph.num_hosts
    competing = tuple(
        replace(
            flows[0], source_host=host, target_host=(host + 3) % num_hosts,
            measured=False,
        )
        for host in range(0, num_hosts, 2)
    )  # fmt: skip
    fabric = replace(config.fabric, host_gbps=720.0)
    return replace(config, fabric=fabric, flows=flows + competing)


def _eighth(config: SimulatorConfig) -> SimulatorConfig:
    flows = (replace(flow, num_packets=flow.num_packets // 8) for flow in config.flows)
    return replace(config, flows=tuple(flows))


def _peak_mib(config: SimulatorConfig) -> float:
    """Of Python and numpy while it runs: the kernels themselves allocate a few KiB."""
    from spraycheck.simulator import simulate

    tracemalloc.start()
    try:
        simulate(config, 1)
        return tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()


def _claim(what: str, rate: float, goal: float) -> Claim:
    return compared(
        name=f"packets a second and core: {what}", value=rate, unit="packets/s",
        baseline=goal, note="baseline: the goal of issue 7", at_least=1.0,
    )  # fmt: skip


def _rate(config: SimulatorConfig, kernel: str) -> float:
    """Packets sent in a second, the best of three runs."""
    from spraycheck.simulator import simulate

    few = replace(
        config, flows=tuple(replace(flow, num_packets=100) for flow in config.flows)
    )
    simulate(few, 1, kernel=kernel)  # compiles
    rates = []
    for seed in range(3):
        begin = time.perf_counter()
        result = simulate(config, seed, kernel=kernel)
        rates.append(int(result.sent.sum()) / (time.perf_counter() - begin))
    return max(rates)
