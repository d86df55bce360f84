"""`iterations`: training iterations until a gray link is found (SprayCheck Tab. 1).

Llama-3 70B, 4 tensor x 4 pipeline x 4 data parallel ranks. The paper does not print its
traffic; ours, step by step:

    parameters                            70.55 G
    of one GPU, over 4 TP x 4 PP           4.41 G
    gradients in bfloat16                  8.82 GB
    ring all-reduce over 4 DP ranks       13.23 GB sent a GPU, 2 x 3/4 of it
    one of its 2 queue pairs is measured   6.61 GB
    packets of 4,096 B                     1.61 M an iteration

Tensor- and pipeline-parallel traffic stays out: the first is kept inside a host by
every such layout, the second is no collective. The iterations are then played: flows of
that many packets must show the drop rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from harness.experiments.base import (
    LOAD,
    P_MIN,
    SEEDS,
    Claim,
    Experiment,
    Point,
    Report,
    Row,
    healthy_and_failing,
    percent,
)
from harness.fabric.models import MODELS
from harness.plots import new_figure, quiet, svg

MTU_BYTES = 4096
DATA_PARALLEL, QUEUE_PAIRS = 4, 2
SPINES = (8, 16, 32, 64)
PAPER = {(64, 0.015): 1, (64, 0.005): 5}
"""What the text states of Tab. 1: at most so many iterations."""


def packets_an_iteration() -> int:
    """Measured packets of one GPU in one iteration; see the list above."""
    sent = 2 * (DATA_PARALLEL - 1) / DATA_PARALLEL
    sent *= MODELS["llama3-70b-4tp-4pp"].gradient_bytes
    return int(sent / QUEUE_PAIRS / MTU_BYTES)


def points(quick: bool) -> list[dict[str, Any]]:
    """Topologies × drop rates, each played with the packets of its iterations."""
    found = []
    for spines in (8,) if quick else SPINES:
        for drop, least in P_MIN.items():
            if quick and drop != 0.015:
                continue
            number = math.ceil(least * spines / packets_an_iteration())
            # Of an iteration no more is played than P_min needs.
            per_spine = min(number * packets_an_iteration() // spines, least)
            found.append(
                {"spines": spines, "drop": drop, "iterations": number,
                 "per_spine": per_spine, "seeds": 4 if quick else SEEDS}
            )  # fmt: skip
    return found


def measure(point: Point) -> dict[str, Any]:
    """Deficits of flows with the packets of those iterations."""
    return healthy_and_failing(
        spines=point["spines"], per_spine=point["per_spine"], drop=point["drop"],
        seeds=point["seeds"], first_seed=700_000_000 + point["spines"] * 1_000,
    )  # fmt: skip


def report(rows: Sequence[Row]) -> Report:
    """Iterations, and whether the played flows tell the drop."""
    table, told = [], {}
    for row in rows:
        healthy = max(*row["healthy"], *row["others"])
        found = sum(value > healthy for value in row["failed"])
        told[row["spines"], row["drop"]] = found == row["seeds"]
        table.append((row["spines"], percent(row["drop"]), P_MIN[row["drop"]],
                      packets_an_iteration(), row["iterations"],
                      f"{found} of {row['seeds']}"))  # fmt: skip
    by = {(row["spines"], row["drop"]): row["iterations"] for row in rows}
    claims = [
        Claim(
            text=f"{spines} spines, {percent(drop)} drop: iterations until it is found",
            paper=f"{wanted}",
            ours=f"{by[spines, drop]}, flows told apart: "
            f"{'all' if told[spines, drop] else 'not all'}",
            is_reached=by[spines, drop] <= wanted and told[spines, drop],
        )
        for (spines, drop), wanted in PAPER.items()
        if (spines, drop) in by
    ]
    return Report(
        columns=("spines", "drop", "P_min", "measured packets an iteration",
                 "iterations", "flows told apart without mistake"),
        table=tuple(table), claims=tuple(claims), picture=_picture(rows),
    )  # fmt: skip


def _picture(rows: Sequence[Row]) -> bytes:
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    spines = sorted({row["spines"] for row in rows})
    drops = sorted({row["drop"] for row in rows})
    for place, drop in enumerate(drops):
        mine = {r["spines"]: r["iterations"] for r in rows if r["drop"] == drop}
        at = [i + 0.26 * (place - 1) for i in range(len(spines))]
        heights = [mine[k] for k in spines]
        axes.bar_label(axes.bar(at, heights, width=0.24, label=percent(drop)))
    axes.set_xticks(range(len(spines)), [f"{k} spines" for k in spines])
    axes.set_ylabel("training iterations")
    axes.set_title("Llama-3 70B, 4TP/4PP/4DP: iterations until P_min", loc="left",
                   fontsize=11)  # fmt: skip
    axes.legend(frameon=False, title="drop")
    quiet(axes)
    return svg(figure)


EXPERIMENT = Experiment(
    name="iterations", title="Training iterations until a gray link is found",
    where="Tab. 1, sec. 5.3",
    holds_at=f"JSQ(2), load {LOAD}, no bursts; traffic as listed in the docs",
    points=points, measure=measure, report=report,
)  # fmt: skip
