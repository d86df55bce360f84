"""`spray-noise`: how far spines' shares spread under each policy (SprayCheck Fig. 2).

Random spraying is binomial, Var X = lambda; queue-driven policies spread less, the less
the fuller the uplinks are. Shows sd(X) / sqrt(lambda) of healthy flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.experiments.base import Claim, Experiment, Point, Report, Row
from harness.plots import new_figure, quiet, svg
from spraycheck.simulator import Sprayed, spray_counts

POLICIES = ("random", "jsq2", "jsq", "round_robin")
LOADS = (0.5, 0.9, 0.98, 1.0)


def points(quick: bool) -> list[dict[str, Any]]:
    """Policies × loads, 8 spines."""
    return [
        {"policy": policy, "load": load, "spines": 8,
         "packets": 40_000 if quick else 500_000, "seeds": 4 if quick else 40}
        for policy in POLICIES
        for load in ((0.98,) if quick else LOADS)
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Spread of the counts over seeds and spines."""
    flow = Sprayed(num_spines=point["spines"], num_packets=point["packets"],
                   load=point["load"], policy=point["policy"])  # fmt: skip
    counts = spray_counts(flow, range(point["seeds"]), num_threads=1)
    expected = point["packets"] / point["spines"]
    deviation = counts - expected
    return {
        "noise": round(float((deviation**2).mean() / expected) ** 0.5, 4),
        "lowest": round(float(deviation.min() / expected**0.5), 3),
        "deviations": [round(float(v), 1) for v in deviation.ravel()[:160]],
    }


def report(rows: Sequence[Row]) -> Report:
    """Random is binomial, the others are narrower."""
    by = {(row["policy"], row["load"]): row for row in rows}
    loads = sorted({row["load"] for row in rows})
    random = [by["random", load]["noise"] for load in loads]
    tighter = all(by[policy, load]["noise"] < by["random", load]["noise"]
                  for policy in POLICIES[1:] for load in loads)  # fmt: skip
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    for policy in POLICIES:
        axes.plot(loads, [by[policy, load]["noise"] for load in loads], marker="o",
                  label=policy.replace("_", " "))  # fmt: skip
    axes.set_xlabel("load of the uplinks")
    axes.set_ylabel("sd(X) / sqrt(λ)")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    axes.set_title("Noise of spraying, 8 spines", loc="left", fontsize=11)
    quiet(axes)
    return Report(
        columns=("policy", "load", "spines", "packets", "seeds", "sd over sqrt(lambda)",
                 "lowest deviation over sqrt(lambda)"),
        table=tuple((r["policy"], r["load"], r["spines"], r["packets"], r["seeds"],
                     r["noise"], r["lowest"]) for r in rows),
        claims=(
            Claim(text="random spraying is binomial: sd / sqrt(λ) is sqrt(1 - 1/k)",
                  paper="0.94 at k = 8",
                  ours=", ".join(f"{value:.2f}" for value in random),
                  is_reached=all(abs(v - 0.935) < 0.12 for v in random)),
            Claim(text="queue-driven policies spread less than random spraying",
                  paper="Fig. 2",
                  ours="at every load" if tighter else "not at every load",
                  is_reached=tighter),
        ),
        picture=svg(figure),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="spray-noise", title="How far the shares of the spines spread",
    where="Fig. 2, sec. 3", holds_at="one flow of 500,000 packets, 8 spines, no bursts",
    points=points, measure=measure, report=report,
)  # fmt: skip
