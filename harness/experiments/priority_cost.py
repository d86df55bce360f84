"""`priority-cost`: what other flows lose to the measured one on top (SprayCheck 5.6).

Each leaf has two senders of equal rate; one is measured. With priority at the switch
that sprays it, the other waits a little longer: its completion time with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.experiments.base import SEEDS, Claim, Experiment, Point, Report, Row
from harness.plots import new_figure, quiet, svg
from spraycheck.simulator import Dcqcn, FabricConfig, Flow, SimulatorConfig, simulate
from vocab.graph import LeafSpine

SPINES = (4, 8, 16)
LOAD = 0.9  # of a leaf's uplinks, both flows together


def points(quick: bool) -> list[dict[str, Any]]:
    """Topologies × priority × seeds."""
    return [
        {"spines": spines, "prioritize": prioritize, "seed": seed,
         "packets": spines * (500 if quick else 4_000)}
        for spines in (SPINES[:1] if quick else SPINES)
        for prioritize in (False, True)
        for seed in range(2 if quick else SEEDS // 2)
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Completion of measured and of other flows, microseconds, the mean over leaves."""
    leaves = 4
    graph = LeafSpine(num_leaves=leaves, num_spines=point["spines"], hosts_per_leaf=2)
    rate = LOAD * 100.0 * point["spines"] / 2
    flows = tuple(
        Flow(source_host=2 * leaf + qp, target_host=2 * ((leaf + 1) % leaves) + qp,
             num_packets=point["packets"], measured=qp == 0, rate_gbps=rate,
             arrivals="poisson")
        for leaf in range(leaves) for qp in (0, 1)
    )  # fmt: skip
    fabric = FabricConfig(graph=graph, host_gbps=2 * rate,
                          prioritize=point["prioritize"])  # fmt: skip
    result = simulate(SimulatorConfig(fabric=fabric, flows=flows, dcqcn=Dcqcn()),
                      point["seed"], kernel="events")  # fmt: skip
    assert result.delivered_ns is not None, "the event kernel looks at it"
    ends = result.delivered_ns / 1000
    return {"measured_us": round(float(ends[::2].mean()), 2),
            "other_us": round(float(ends[1::2].mean()), 2),
            "wait_ns": round(float(result.up.mean_wait_ns.mean()), 1)}  # fmt: skip


def report(rows: Sequence[Row]) -> Report:
    """The ratio with and without, seed by seed."""
    table, ratios = [], {}
    for spines in sorted({row["spines"] for row in rows}):
        by = {(r["prioritize"], r["seed"]): r for r in rows if r["spines"] == spines}
        seeds = sorted({seed for _, seed in by})
        pairs = [by[True, n]["other_us"] / by[False, n]["other_us"] for n in seeds]
        own = [by[True, n]["measured_us"] / by[False, n]["measured_us"] for n in seeds]
        ratios[spines] = sum(pairs) / len(pairs)
        table.append((spines, f"{100 / spines:.2f} %", len(seeds),
                      round(ratios[spines], 4), round(min(pairs), 4),
                      round(max(pairs), 4), round(sum(own) / len(own), 4)))  # fmt: skip
    most = max(ratios.values())
    figure = new_figure(6, 3.2)
    axes = figure.add_subplot()
    bars = axes.bar([str(k) for k in ratios], [100 * (v - 1) for v in ratios.values()],
                    width=0.5)  # fmt: skip
    axes.bar_label(bars, fmt="%.2f %%")
    axes.set_xlabel("spines")
    axes.set_ylabel("longer completion, %")
    axes.set_title("What other flows lose to the measured one", loc="left", fontsize=11)
    quiet(axes)
    return Report(
        columns=("spines", "share of a port", "seeds", "others with over without, mean",
                 "least", "most", "measured with over without"),
        table=tuple(table),
        claims=(
            Claim(text="priority at the spraying switch costs other flows little",
                  paper="minimal (sec. 5.6)",
                  ours=f"completion {100 * (most - 1):+.2f} % at the most",
                  is_reached=most < 1.05),
        ),
        picture=svg(figure),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="priority-cost", title="What other flows lose to the measured one",
    where="sec. 5.6",
    holds_at="4 leaves, JSQ(2), DCQCN, both flows together 0.9 of the uplinks, Poisson "
    "arrivals",
    points=points, measure=measure, report=report,
)  # fmt: skip
