"""`pmin`: packets a spine from which on no flow is judged wrongly (SprayCheck Fig. 9).

Only the measured pair is simulated: flows of a ring share no port. As in the paper s is
found on 8 spines and then used, as it is, on larger topologies.
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
    separating,
)
from harness.plots import new_figure, quiet, svg

SPINES = (8, 16, 32, 64)
SIZES = {0.005: (15_000, 30_000, 45_000, 60_000), 0.01: (5_000, 10_000, 15_000, 20_000),
         0.015: (2_000, 3_500, 5_000, 7_000)}  # fmt: skip


def points(quick: bool) -> list[dict[str, Any]]:
    """Topologies × drop rates × packets a spine, up to the published ones."""
    return [
        {"spines": spines, "drop": drop, "per_spine": per_spine,
         "seeds": 4 if quick else SEEDS}
        for spines in (SPINES[:2] if quick else SPINES)
        for drop, sizes in SIZES.items()
        if not quick or drop == 0.015
        for per_spine in sizes
    ]  # fmt: skip


def measure(point: Point) -> dict[str, Any]:
    """Deficits of healthy and failing flows."""
    return healthy_and_failing(
        spines=point["spines"], per_spine=point["per_spine"], drop=point["drop"],
        seeds=point["seeds"],
        first_seed=point["spines"] * 10_000_000 + point["per_spine"] * 20,
    )  # fmt: skip


def sensitivity(rows: Sequence[Row]) -> float:
    """s from the 8-spine rows at the published sizes: the middle of what separates."""
    known = [row for row in rows if row["spines"] == min(r["spines"] for r in rows)
             and row["per_spine"] == P_MIN[row["drop"]]]  # fmt: skip
    low, high = separating(known)
    return (low + high) / 2


def mistakes(row: Row, s: float) -> tuple[int, int]:
    """(false negatives, false positives) among its flows."""
    missed = sum(value <= s for value in row["failed"])
    alarms = sum(value > s for value in (*row["healthy"], *row["others"]))
    return missed, alarms


def report(rows: Sequence[Row]) -> Report:
    """P_min for each topology and drop rate, at one s for all."""
    s = sensitivity(rows)
    table = []
    for row in rows:
        missed, alarms = mistakes(row, s)
        table.append((row["spines"], percent(row["drop"]), row["per_spine"],
                      row["seeds"], missed, alarms, round(s, 3)))  # fmt: skip
    at_published = [r for r in rows if r["per_spine"] == P_MIN[r["drop"]]]
    wrong = [mistakes(row, s) for row in at_published]
    num_alarms = sum(mistakes(row, s)[1] for row in rows)
    at_p_min = sum(alarms for _, alarms in wrong)
    claims = [
        Claim(
            text=f"P_min at {percent(drop)} drop, {spines} spines",
            paper=f"{P_MIN[drop]:,} packets a spine",
            ours=_words(least := _least(rows, spines, drop, s)),
            is_reached=least is not None and least <= P_MIN[drop],
        )
        for spines in sorted({row["spines"] for row in rows})
        for drop in sorted({row["drop"] for row in rows})
    ]
    claims += [
        Claim(text="one s for all topologies and rates, at the published sizes",
              paper="yes", ours=f"s = {s:.2f}: {sum(m for m, _ in wrong)} missed, "
              f"{sum(a for _, a in wrong)} false alarms",
              is_reached=not any(m or a for m, a in wrong)),
        Claim(text="no false positive from P_min on", paper="none",
              ours=f"{at_p_min}; with fewer packets than P_min, where nothing is "
              f"decided, {num_alarms - at_p_min} of all flows",
              is_reached=at_p_min == 0),
    ]  # fmt: skip
    return Report(
        columns=("spines", "drop", "packets a spine", "seeds", "false negatives",
                 "false positives", "s"),
        table=tuple(table), claims=tuple(claims), picture=_picture(rows, s),
    )  # fmt: skip


def _least(rows: Sequence[Row], spines: int, drop: float, s: float) -> int | None:
    """The smallest size from which on nothing is judged wrongly; None: not reached."""
    mine = sorted((r for r in rows if (r["spines"], r["drop"]) == (spines, drop)),
                  key=lambda r: -int(r["per_spine"]))  # fmt: skip
    least = None
    for row in mine:
        if any(mistakes(row, s)):
            break
        least = int(row["per_spine"])
    return least


def _words(least: int | None) -> str:
    return "not reached" if least is None else f"{least:,} packets a spine"


def _picture(rows: Sequence[Row], s: float) -> bytes:
    drops = sorted({row["drop"] for row in rows})
    figure = new_figure(4 * len(drops), 3.6)
    for place, drop in enumerate(drops):
        axes = figure.add_subplot(1, len(drops), place + 1)
        for spines in sorted({row["spines"] for row in rows}):
            mine = sorted(
                (r for r in rows if (r["spines"], r["drop"]) == (spines, drop)),
                key=lambda r: int(r["per_spine"]),
            )
            axes.plot([r["per_spine"] for r in mine],
                      [mistakes(r, s)[0] / r["seeds"] for r in mine], marker="o",
                      label=f"{spines} spines")  # fmt: skip
        axes.axvline(P_MIN[drop], color="#888", linestyle="--", linewidth=1)
        axes.set_xlabel("packets a spine (dashed: published P_min)")
        axes.set_ylabel("false negative rate")
        axes.set_ylim(-0.03, 1.03)
        axes.set_title(f"{percent(drop)} drop", loc="left", fontsize=11)
        axes.legend(frameon=False)
        quiet(axes)
    return svg(figure)


EXPERIMENT = Experiment(
    name="pmin", title="How many packets a spine it takes",
    where="Fig. 9, sec. 5.3", holds_at=f"JSQ(2), load {LOAD}, no bursts",
    points=points, measure=measure, report=report,
)  # fmt: skip
