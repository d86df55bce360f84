"""`asymmetry`: links that are disabled beforehand (SprayCheck App. A).

A flow of the same N sprays over fewer spines, so each carries more packets: the more
links are disabled, the better a gray one shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.experiments.base import (
    LOAD,
    SEEDS,
    Claim,
    Experiment,
    Point,
    Report,
    Row,
    healthy_and_failing,
    percent,
)
from harness.plots import new_figure, quiet, svg

SPINES = 16
PACKETS = SPINES * 20_000
DROP = 0.005


def points(quick: bool) -> list[dict[str, Any]]:
    """0 to 8 of 16 spines disabled for the pair of leaves."""
    return [
        {"disabled": disabled, "drop": DROP, "seeds": 4 if quick else 2 * SEEDS,
         "packets": PACKETS // (8 if quick else 1)}
        for disabled in ((0, 8) if quick else (0, 1, 2, 4, 8))
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Deficits of the same N over the spines that are left."""
    usable = SPINES - point["disabled"]
    return healthy_and_failing(
        spines=usable, per_spine=point["packets"] // usable, drop=point["drop"],
        seeds=point["seeds"], first_seed=900_000_000 + point["disabled"] * 1_000,
    )  # fmt: skip


def report(rows: Sequence[Row]) -> Report:
    """The distance between health and failure, in units of sqrt(lambda)."""
    gaps = [(row, min(row["failed"]) - max(*row["healthy"], *row["others"]))
            for row in rows]  # fmt: skip
    ordered = [gap for _, gap in gaps]
    rises = ordered[-1] > ordered[0]
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    axes.boxplot([row["failed"] for row in rows], widths=0.4)
    largest = [max(*row["healthy"], *row["others"]) for row in rows]
    axes.plot(range(1, len(rows) + 1), largest, marker="_", markersize=24,
              linestyle="none", label="largest healthy deficit")  # fmt: skip
    axes.set_xticks(range(1, len(rows) + 1), [str(row["disabled"]) for row in rows])
    axes.set_xlabel(f"disabled spines of {SPINES}")
    axes.set_ylabel("deficit of the failed path")
    axes.legend(frameon=False)
    axes.set_title(
        f"{PACKETS:,} packets, {percent(DROP)} drop", loc="left", fontsize=11
    )
    quiet(axes)
    return Report(
        columns=("disabled spines", "usable", "packets", "drop", "seeds",
                 "largest healthy deficit", "smallest failed deficit", "gap"),
        table=tuple((row["disabled"], SPINES - row["disabled"], row["packets"],
                     percent(row["drop"]), row["seeds"],
                     round(max(*row["healthy"], *row["others"]), 3),
                     round(min(row["failed"]), 3), round(gap, 3)) for row, gap in gaps),
        claims=(
            Claim(text="more preexisting failures improve accuracy", paper="App. A",
                  ours=f"gap between health and failure: {ordered[0]:.2f} with none, "
                  f"{ordered[-1]:.2f} with {rows[-1]['disabled']} disabled",
                  is_reached=rises),
        ),
        picture=svg(figure),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="asymmetry", title="Links that are disabled beforehand",
    where="App. A, sec. 5.5", holds_at=f"JSQ(2), load {LOAD} of the usable links",
    points=points, measure=measure, report=report,
)  # fmt: skip
