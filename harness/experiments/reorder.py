"""`reorder`: how far packets overtake each other at the worst (SprayCheck sec. 5.4).

64 spines; half of the uplinks of two leaves are down, so that each sprays over 31
spines of its own and one that both use, to the same leaf. The queue of the shared
spine's downlink is the longest, and what comes over it is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.experiments.base import SEEDS, Claim, Experiment, Point, Report, Row
from harness.plots import new_figure, quiet, svg
from spraycheck.simulator import Dcqcn, FabricConfig, Flow, SimulatorConfig, simulate
from vocab.graph import LeafSpine
from vocab.names import Link

SPINES = 64
OWN = 31
BOUND = 7_573
"""Packets; three full queues of 10 MiB, by the paper's footnote."""

RATES_GBPS = (100.0, 1600.0, 2880.0)
"""Of each flow: a host's link as in the paper, and 0.5 and 0.9 of 32 uplinks."""


def points(quick: bool) -> list[dict[str, Any]]:
    """Rates of the flows × seeds."""
    return [
        {"gbps": gbps, "seed": seed, "packets": 20_000 if quick else 400_000}
        for gbps in (RATES_GBPS[:1] if quick else RATES_GBPS)
        for seed in range(2 if quick else SEEDS // 4)
    ]


def measure(point: Point) -> dict[str, Any]:
    """Largest reordering extent (RFC 4737) of both flows."""
    shared = OWN
    off = {
        *(Link(0, spine) for spine in range(SPINES) if spine > shared),
        *(Link(1, spine) for spine in range(SPINES)
          if spine < shared or spine > shared + OWN),
    }  # fmt: skip
    graph = LeafSpine(num_leaves=3, num_spines=SPINES, hosts_per_leaf=2,
                      disabled=frozenset(off))  # fmt: skip
    rate = point["gbps"]
    flows = tuple(
        Flow(source_host=2 * leaf, target_host=4 + leaf, num_packets=point["packets"],
             measured=True, rate_gbps=rate)
        for leaf in (0, 1)
    )  # fmt: skip
    result = simulate(
        SimulatorConfig(fabric=FabricConfig(graph=graph, host_gbps=rate), flows=flows,
                        dcqcn=Dcqcn()),
        point["seed"], kernel="events",
    )  # fmt: skip
    assert result.reordering is not None, "the event kernel looks at it"
    return {
        "extent": int(result.reordering.max_extent_pkts.max()),
        "histogram": result.reordering.histogram.sum(axis=0).tolist(),
    }


def report(rows: Sequence[Row]) -> Report:
    """The worst extent beside the paper's and beside the packets of a detection."""
    rates = sorted({row["gbps"] for row in rows})
    by = {rate: [r for r in rows if r["gbps"] == rate] for rate in rates}
    worst = {rate: max(r["extent"] for r in by[rate]) for rate in rates}
    as_paper, most = worst[rates[0]], max(worst.values())
    needed = 7_000 * (OWN + 1)
    return Report(
        columns=("rate of a flow, Gbit/s", "packets a flow", "seeds", "largest extent"),
        table=tuple((rate, by[rate][0]["packets"], len(by[rate]), worst[rate])
                    for rate in rates),
        claims=(
            Claim(text="worst reordering, packets, hosts of 100 Gbit/s", paper="100",
                  ours=str(as_paper), is_reached=as_paper <= 100),
            Claim(text="worst reordering, packets, uplinks at 0.9 load",
                  paper=f"theoretical bound {BOUND:,}", ours=str(most),
                  is_reached=most <= BOUND),
            Claim(text="far fewer than the packets of a detection",
                  paper="> 100,000 needed", ours=f"{most} of {needed:,} (1.5 % drop)",
                  is_reached=most < needed / 10),
        ),
        picture=_picture(by),
    )  # fmt: skip


def _picture(by: dict[float, list[Row]]) -> bytes:
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    for rate, rows in by.items():
        total = [
            sum(values) for values in zip(*(r["histogram"] for r in rows), strict=True)
        ]
        axes.plot(range(14), [max(value, 0.5) for value in total[:14]], marker="o",
                  label=f"{rate:g} Gbit/s")  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(range(0, 14, 2), ["in order", "2-3", "8-15", "32-63", "128-255",
                                      "512-1023", "2048-4095"])  # fmt: skip
    axes.set_xlabel("packets behind a later one")
    axes.set_ylabel("packets")
    axes.legend(frameon=False)
    axes.set_title(
        "31 + 1 of 64 spines, two flows to one leaf", loc="left", fontsize=11
    )
    quiet(axes)
    return svg(figure)


EXPERIMENT = Experiment(
    name="reorder", title="How far packets overtake each other",
    where="sec. 5.4", holds_at="64 spines, 31 + 1 usable a leaf, JSQ(2), DCQCN",
    points=points, measure=measure, report=report,
)  # fmt: skip
