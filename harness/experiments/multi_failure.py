"""`multi-failure`: several gray links between two leaves at once (SprayCheck App. A).

1 to 4 of the 64 directed links between two leaves at 32 spines, and 2 of 16 at 8. Each
failure has a spine of its own; retransmissions are sprayed over all paths and lift the
counters of failing ones too, which is what costs accuracy where many fail.
"""

from __future__ import annotations

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
from harness.plots import new_figure, quiet, svg

CASES = ((32, 1), (32, 2), (32, 3), (32, 4), (8, 1), (8, 2))


def points(quick: bool) -> list[dict[str, Any]]:
    """(spines, failed links) × drop rates, at the published P_min."""
    return [
        {"spines": spines, "num_failed": failed, "drop": drop, "per_spine": P_MIN[drop],
         "seeds": 4 if quick else SEEDS}
        for spines, failed in (((8, 1), (8, 2)) if quick else CASES)
        for drop in ((0.015,) if quick else sorted(P_MIN))
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Deficits; the failing spines lie apart."""
    number = point["num_failed"]
    stride = point["spines"] // number
    return healthy_and_failing(
        spines=point["spines"], per_spine=point["per_spine"], drop=point["drop"],
        seeds=point["seeds"], failed=[i * stride for i in range(number)],
        first_seed=800_000_000 + point["spines"] * 100_000 + number * 1_000,
    )  # fmt: skip


def report(rows: Sequence[Row]) -> Report:
    """At the s of single failures: flows in which every failed path is found."""
    table = []
    worst: dict[tuple[int, int], float] = {}
    for row in rows:
        s = _sensitivity(rows, row)
        found = sum(value > s for value in row["failed"])
        alarms = sum(value > s for value in (*row["healthy"], *row["others"]))
        key = (row["spines"], row["num_failed"])
        worst[key] = min(worst.get(key, 1.0), found / row["seeds"])
        table.append((row["spines"], f"{row['num_failed']} of {2 * row['spines']}",
                      percent(row["drop"]), row["per_spine"], round(s, 3),
                      f"{found} of {row['seeds']}", alarms))  # fmt: skip
    num_alarms = sum(line[-1] for line in table)
    claims = [
        Claim(text=f"{failed} of {2 * spines} links at {spines} spines: every failed "
              "path found", paper="no effect on accuracy" if spines == 32 else
              "accuracy is reduced", ours=f"{100 * rate:.0f} % of flows at the worst "
              "drop rate", is_reached=(rate == 1.0) is (spines == 32))
        for (spines, failed), rate in worst.items() if failed > 1
    ]  # fmt: skip
    claims.append(
        Claim(text="no false positive with any number of failures", paper="none",
              ours=str(num_alarms), is_reached=num_alarms == 0)
    )  # fmt: skip
    return Report(
        columns=("spines", "failed links", "drop", "packets a spine", "s",
                 "flows with every failed path found", "false positives"),
        table=tuple(table), claims=tuple(claims), picture=_picture(rows),
    )  # fmt: skip


def _sensitivity(rows: Sequence[Row], row: Row) -> float:
    """The middle between health and a single failure of the same fabric and rate."""
    wanted = (1, row["spines"], row["drop"])
    single = next(
        r for r in rows if (r["num_failed"], r["spines"], r["drop"]) == wanted
    )
    healthy = max(*single["healthy"], *single["others"])
    return float(healthy + min(single["failed"])) / 2


def _picture(rows: Sequence[Row]) -> bytes:
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    keys = list(dict.fromkeys((r["spines"], r["num_failed"]) for r in rows))
    for drop in sorted({row["drop"] for row in rows}):
        mine = {(r["spines"], r["num_failed"]): r for r in rows if r["drop"] == drop}
        shares = [sum(v > _sensitivity(rows, mine[k]) for v in mine[k]["failed"])
                  / mine[k]["seeds"] for k in keys]  # fmt: skip
        axes.plot(range(len(keys)), shares, marker="o", linestyle="none",
                  label=percent(drop))  # fmt: skip
    labels = [f"{failed} of {2 * spines}\n{spines} spines" for spines, failed in keys]
    axes.set_xticks(range(len(keys)), labels)
    axes.set_ylim(-0.05, 1.05)
    axes.set_ylabel("flows with every failed path found")
    axes.legend(frameon=False, title="drop")
    axes.set_title("Several gray links between two leaves", loc="left", fontsize=11)
    quiet(axes)
    return svg(figure)


EXPERIMENT = Experiment(
    name="multi-failure", title="Several gray links between two leaves",
    where="App. A, sec. 5.5", holds_at=f"JSQ(2), load {LOAD}, no bursts, P_min packets",
    points=points, measure=measure, report=report,
)  # fmt: skip
