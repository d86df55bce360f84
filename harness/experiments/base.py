"""What an experiment is: points to measure, and what their results say.

    points(quick) ─► measure(point) for each, on any core, in any order ─► rows
    rows ─► report: a table, the paper's claims beside ours, a picture

A point is plain data and measuring it is a pure function of it (seeds are in it), so
results are kept by point and a killed experiment goes on. Implemented by every module
of this package named in `registry`; run by `runner`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spraycheck.simulator import Sprayed, spray_counts

Point = Mapping[str, Any]
Row = Mapping[str, Any]  # a point's fields and its result's

LOAD = 0.98
"""Of the uplinks; the noise of queue-driven spraying depends on it (FACTS)."""

POLICY = "jsq2"
SEEDS = 20
P_MIN = {0.005: 60_000, 0.01: 20_000, 0.015: 7_000}
"""Published: drop fraction -> packets a spine (SprayCheck sec. 5.3, Fig. 9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of the paper beside what came out here."""

    text: str
    paper: str
    ours: str
    is_reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an experiment found."""

    columns: tuple[str, ...]
    table: tuple[tuple[Any, ...], ...]
    claims: tuple[Claim, ...]
    picture: bytes  # SVG


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment; `where` names the paper's section or figure."""

    name: str
    title: str
    where: str
    holds_at: str  # the conditions, in words
    points: Callable[[bool], list[dict[str, Any]]]  # quick -> points
    measure: Callable[[Point], dict[str, Any]]
    report: Callable[[Sequence[Row]], Report]


def deficits(counts: NDArray[np.int64], num_packets: int) -> NDArray[np.float64]:
    """(lambda - X) / sqrt(lambda) of every spine; shape as `counts`.

    A spine fails where its deficit is above s.
    """
    expected = num_packets / counts.shape[-1]
    found: NDArray[np.float64] = (expected - counts) / math.sqrt(expected)
    return found


def healthy_and_failing(
    *, spines: int, per_spine: int, drop: float, seeds: int, load: float = LOAD,
    policy: str = POLICY, first_seed: int = 0, failed: Sequence[int] = (0,),
) -> dict[str, list[float]]:  # fmt: skip
    """Largest deficits of flows over healthy paths and over failing ones.

    Returns:
        healthy: of each flow of a healthy fabric, its largest deficit.
        failed: of each flow of a failing fabric, the smallest of its failed spines'.
        others: of each such flow, the largest deficit of a spine that did not fail.
    """
    flow = Sprayed(
        num_spines=spines, num_packets=per_spine * spines, load=load, policy=policy
    )
    ids = range(first_seed, first_seed + seeds)
    good = deficits(spray_counts(flow, ids, num_threads=1), flow.num_packets)
    bad_flow = Sprayed(
        num_spines=spines, num_packets=per_spine * spines, load=load, policy=policy,
        up_drop_frac=dict.fromkeys(failed, drop),
    )  # fmt: skip
    other_ids = range(first_seed + 1_000_000, first_seed + 1_000_000 + seeds)
    bad = deficits(spray_counts(bad_flow, other_ids, num_threads=1), flow.num_packets)
    rest = np.delete(bad, list(failed), axis=1)
    return {
        "healthy": rounded(good.max(axis=1)),
        "failed": rounded(bad[:, list(failed)].min(axis=1)),
        "others": rounded(rest.max(axis=1)),
    }


def rounded(values: NDArray[np.float64]) -> list[float]:
    """As JSON keeps them: four digits are far below any noise."""
    return [round(float(value), 4) for value in values]


def separating(rows: Sequence[Row]) -> tuple[float, float]:
    """The range of s that judges every flow rightly; none where low >= high."""
    low = max(max(*row["healthy"], *row["others"]) for row in rows)
    high = min(min(row["failed"]) for row in rows)
    return low, high


def percent(fraction: float) -> str:
    """Such as `0.5 %`."""
    return f"{100 * fraction:g} %"
