"""`congestion`: detection beside traffic that fills the same links (SprayCheck App. A).

8 leaves, 8 spines. leaf0 measures its flow to leaf1 while other hosts send to the same
leaf and through the same spines, under DCQCN, which slows the measured flow down too.
On top at the switch that sprays it, the flow is spread as if it were alone.

As if alone, but slower: at a lower load of the uplinks JSQ(2) is noisier, see
`spray-noise`. The s of the flow at full rate then raises false alarms; an s that was
calibrated beside congestion does not, and 2.5 % at 60,000 packets a spine show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.experiments.base import (
    SEEDS,
    Claim,
    Experiment,
    Point,
    Report,
    Row,
    deficits,
    percent,
    rounded,
)
from harness.plots import BAD, GOOD, new_figure, quiet, svg
from spraycheck.simulator import (
    Dcqcn,
    FabricConfig,
    Flow,
    LinkLoss,
    SimulatorConfig,
    simulate,
)
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

LEAVES = SPINES = 8
HOST_GBPS = 784.0  # 0.98 of a leaf's uplinks: one measured flow alone fills them
DROP = 0.025
PER_SPINE = 60_000
COMPETITORS = (0, 1, 3)


def points(quick: bool) -> list[dict[str, Any]]:
    """Numbers of competing senders × calibration, healthy and gray."""
    return [
        {"competitors": competitors, "role": role, "drop": DROP,
         "seed": 1000 * place + seed,
         "packets": 8 * (2_000 if quick else PER_SPINE)}
        for competitors in (COMPETITORS[::2] if quick else COMPETITORS)
        for place, role in enumerate(("calibration", "healthy", "gray"))
        for seed in range(3 if quick else SEEDS)
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Deficits of the measured flow's spines, and how fast it was sent."""
    graph = LeafSpine(num_leaves=LEAVES, num_spines=SPINES, hosts_per_leaf=2)
    measured = Flow(source_host=0, target_host=2, num_packets=point["packets"],
                    measured=True)  # fmt: skip
    # The second host of leaf0, and hosts of other leaves, all send to leaf1.
    others = [
        Flow(source_host=host, target_host=3, num_packets=point["packets"])
        for host in (1, 4, 6, 8, 10)[: point["competitors"]]
    ]
    losses = () if point["role"] != "gray" else (
        LinkLoss(link=Link(0, 0, Direction.UP), drop_frac=point["drop"]),
    )  # fmt: skip
    result = simulate(
        SimulatorConfig(
            fabric=FabricConfig(graph=graph, host_gbps=HOST_GBPS),
            flows=(measured, *others), losses=losses, dcqcn=Dcqcn(),
        ),
        point["seed"], kernel="events",
    )  # fmt: skip
    took_s = float(result.counted_ns[0]) / 1e9
    found = deficits(result.counts[0], point["packets"])
    return {
        "deficits": rounded(found),
        "gbps": round(point["packets"] * measured.packet_bytes * 8 / took_s / 1e9, 1),
        "notices": int(result.notices.sum()),
    }


def report(rows: Sequence[Row]) -> Report:
    """Health and failure, with the s of the flow alone and with one for congestion."""

    def of(competitors: int, role: str) -> list[Row]:
        return [r for r in rows if (r["competitors"], r["role"]) == (competitors, role)]

    numbers = sorted({row["competitors"] for row in rows})
    largest = {n: max(max(row["deficits"]) for row in of(n, "calibration"))
               for n in numbers}  # fmt: skip
    alone, s = 1.1 * largest[0], 1.1 * max(largest.values())
    table, is_kept = [], True
    for number in numbers:
        healthy, gray = of(number, "healthy"), of(number, "gray")
        calm = [max(row["deficits"]) for row in healthy]
        calm += [max(row["deficits"][1:]) for row in gray]
        found = sum(row["deficits"][0] > s for row in gray)
        alarms = sum(value > s for value in calm)
        is_kept &= found == len(gray) and alarms == 0
        rate = sum(row["gbps"] for row in gray) / len(gray)
        notices = sum(row["notices"] for row in gray) // len(gray)
        table.append((number, percent(DROP), round(rate, 1), notices, round(s, 3),
                      f"{found} of {len(gray)}", alarms, round(alone, 3),
                      sum(value > alone for value in calm)))  # fmt: skip
    return Report(
        columns=("competing senders", "drop", "measured flow, Gbit/s",
                 "congestion notices", "s beside congestion", "found",
                 "false positives", "s of the flow alone", "its false positives"),
        table=tuple(table),
        claims=(
            Claim(text="accuracy is kept under congestion", paper="App. A, sec. 5.5",
                  ours=f"{'all found, no' if is_kept else 'not all found, or a'} false "
                  "positive, at an s calibrated beside congestion", is_reached=is_kept),
        ),
        picture=_picture(numbers, of, s),
    )  # fmt: skip


def _picture(
    numbers: Sequence[int], of: Callable[[int, str], list[Row]], s: float
) -> bytes:
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    for place, number in enumerate(numbers):
        calm = [max(row["deficits"]) for row in of(number, "healthy")]
        gray = [row["deficits"][0] for row in of(number, "gray")]
        for offset, values, color, label in (
            (-0.1, calm, GOOD, "healthy, largest"), (0.1, gray, BAD, "failed path"),
        ):  # fmt: skip
            axes.plot([place + offset] * len(values), values, "o", markersize=4,
                      color=color, label=label if place == 0 else None)  # fmt: skip
    axes.axhline(s, color="#888", linestyle="--", linewidth=1)
    axes.set_xticks(range(len(numbers)), [f"{n} competing" for n in numbers])
    axes.set_ylabel("deficit / sqrt(λ)")
    axes.legend(frameon=False)
    axes.set_title("The measured flow beside congestion (dashed: s)", loc="left",
                   fontsize=11)  # fmt: skip
    quiet(axes)
    return svg(figure)


EXPERIMENT = Experiment(
    name="congestion", title="Detection beside congestion",
    where="App. A, sec. 5.5",
    holds_at="8 x 8, JSQ(2), DCQCN, hosts at 784 Gbit/s (0.98 of a leaf's uplinks)",
    points=points, measure=measure, report=report,
)  # fmt: skip
