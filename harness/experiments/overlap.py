"""`overlap`: competing flows in an asymmetric network (SprayCheck Fig. 3, 10a).

    healthy fabric, 4 spines; leaf2 has no link to spine0
    leaf0 ─► leaf1   measured, over spines 0-3
    leaf0 ─► leaf2   competing, over spines 1-3: their uplink queues are fuller
    a  inside: a shorter flow starts and ends while the measured one runs
    b  whole: both start and end together
    c  later: it starts in the middle and goes on after the measured one

Without priority JSQ sends the measured flow round the fuller uplinks: healthy spines
look as if they lost packets. Priority alone, with the real queues of its class, does
not restore the balance here, because a packet in service is waited for; the virtual
queues of our data plane do. Both are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.experiments.base import (
    SEEDS,
    Claim,
    Experiment,
    Point,
    Report,
    Row,
    deficits,
    rounded,
)
from harness.plots import new_figure, quiet, svg
from spraycheck.dataplane.base import FULL_PACKET_BYTES
from spraycheck.simulator import FabricConfig, Flow, SimulatorConfig, simulate
from vocab.graph import LeafSpine
from vocab.names import Link

SPINES = 4
RATE_GBPS = 180.0  # of each flow: together 0.9 of the four uplinks
MODES: dict[str, dict[str, Any]] = {
    "no priority": {"prioritize": False, "virtual_queues": False},
    "priority": {"prioritize": True, "virtual_queues": False},
    "priority, virtual queues": {"prioritize": True, "virtual_queues": True},
}
OVERLAPS = ("alone", "inside", "whole", "later")


def points(quick: bool) -> list[dict[str, Any]]:
    """Modes × overlaps × seeds."""
    return [
        {"mode": mode, "overlap": overlap, "seed": seed,
         "packets": SPINES * (2_000 if quick else 20_000)}
        for mode in MODES
        for overlap in OVERLAPS
        for seed in range(2 if quick else SEEDS)
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Deficits of the measured flow over a healthy fabric."""
    graph = LeafSpine(
        num_leaves=3, num_spines=SPINES, hosts_per_leaf=2,
        disabled=frozenset({Link(2, 0)}),
    )  # fmt: skip
    packets = point["packets"]
    length_ns = int(packets * FULL_PACKET_BYTES * 8 / RATE_GBPS)
    measured = Flow(source_host=0, target_host=2, num_packets=packets, measured=True,
                    rate_gbps=RATE_GBPS, arrivals="poisson")  # fmt: skip
    crossing = {"alone": (0, 0.0), "inside": (length_ns // 4, 0.5), "whole": (0, 1.0),
                "later": (length_ns // 2, 1.0)}  # fmt: skip
    start, share = crossing[point["overlap"]]
    other = () if not share else (
        Flow(source_host=1, target_host=4, num_packets=int(packets * share),
             rate_gbps=RATE_GBPS, start_ns=start, arrivals="poisson"),
    )  # fmt: skip
    fabric = FabricConfig(graph=graph, host_gbps=400.0, **MODES[point["mode"]])
    result = simulate(SimulatorConfig(fabric=fabric, flows=(measured, *other)),
                      point["seed"], kernel="events")  # fmt: skip
    return {"deficits": rounded(deficits(result.counts[0], packets))}


def report(rows: Sequence[Row]) -> Report:
    """True negatives at the s of the flow alone, with half as much again."""
    table, tnr = [], {}
    for mode in MODES:
        alone = [r for r in rows if (r["mode"], r["overlap"]) == (mode, "alone")]
        s = 1.5 * max(max(row["deficits"]) for row in alone)
        for overlap in OVERLAPS:
            mine = [r for r in rows if (r["mode"], r["overlap"]) == (mode, overlap)]
            largest = [max(row["deficits"]) for row in mine]
            calm = sum(value <= s for value in largest)
            tnr[mode, overlap] = calm / len(mine)
            table.append((mode, overlap, round(s, 3), f"{calm} of {len(mine)}",
                          round(max(largest), 2)))  # fmt: skip
    crossed = OVERLAPS[1:]
    plain = [tnr["no priority", name] for name in crossed]
    virtual = [tnr["priority, virtual queues", name] for name in crossed]
    real = [tnr["priority", name] for name in crossed]
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    for place, mode in enumerate(MODES):
        at = [i + 0.26 * (place - 1) for i in range(len(OVERLAPS))]
        heights = [tnr[mode, name] for name in OVERLAPS]
        axes.bar(at, heights, width=0.24, label=mode)
    axes.set_xticks(range(len(OVERLAPS)), OVERLAPS)
    axes.set_ylabel("true negative rate")
    axes.set_title("A healthy, asymmetric network beside a competing flow", loc="left",
                   fontsize=11)  # fmt: skip
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    quiet(axes)
    return Report(
        columns=("mode", "overlap", "s", "flows without alarm", "largest deficit"),
        table=tuple(table),
        claims=(
            Claim(text="without priority false positives are common",
                  paper="low true negative rate in all three overlaps",
                  ours=_words(plain), is_reached=max(plain) < 0.5),
            Claim(text="the measured flow on top: no false positive in any overlap",
                  paper="none", ours=f"with virtual queues {_words(virtual)}; with the "
                  f"real queues of its class {_words(real)}",
                  is_reached=min(virtual) == 1.0),
        ),
        picture=svg(figure),
    )  # fmt: skip


def _words(rates: Sequence[float]) -> str:
    return "true negative rate " + ", ".join(f"{rate:.2f}" for rate in rates)


EXPERIMENT = Experiment(
    name="overlap", title="Competing flows in an asymmetric network",
    where="Fig. 3, Fig. 10a, sec. 5.5",
    holds_at="4 spines, JSQ(2), two flows of 180 Gbit/s with Poisson arrivals",
    points=points, measure=measure, report=report,
)  # fmt: skip
