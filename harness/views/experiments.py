"""The paper's experiments as a page: what each shows, and what came out last.

Called by the dashboard. Reads the files that `harness.experiments.runner` wrote: those
of the user first, else the ones that ship with the source; computes nothing.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.experiments.base import Experiment
from harness.experiments.registry import EXPERIMENTS

SHIPPED = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "experiments"
MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """A sentence of the paper beside what came out."""

    text: str
    paper: str
    ours: str
    is_reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """One experiment; without results `claims` and `table` are empty."""

    name: str
    title: str
    where: str
    holds_at: str
    command: str
    is_measured: bool
    origin: str  # whose results: "yours", "shipped", or "" where there are none
    commit: str
    claims: tuple[ClaimView, ...]
    columns: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentsView:
    """The page."""

    experiments: tuple[ExperimentView, ...]
    num_reached: int
    num_claims: int


def build(folder: Path, shipped: Path = SHIPPED) -> ExperimentsView:
    """All experiments, with the results in `folder`, or those that ship."""
    found = tuple(
        _view(item, (("yours", folder), ("shipped", shipped)))
        for item in EXPERIMENTS.values()
    )
    claims = [claim for item in found for claim in item.claims]
    return ExperimentsView(
        experiments=found,
        num_reached=sum(claim.is_reached for claim in claims),
        num_claims=len(claims),
    )


def picture(name: str, folder: Path, shipped: Path = SHIPPED) -> bytes | None:
    """The SVG of the same results as `build` shows; None where there are none."""
    if name not in EXPERIMENTS:
        return None
    for place in (folder, shipped):
        if _read_json(place / f"{name}.json") is not None:
            return _read(place / f"{name}.svg")
    return None


def _view(item: Experiment, places: Sequence[tuple[str, Path]]) -> ExperimentView:
    for origin, folder in places:
        data = _read_json(folder / f"{item.name}.json")
        if data is None:
            continue
        rows = _read_table(folder / f"{item.name}.csv")
        return ExperimentView(
            name=item.name, title=item.title, where=item.where, holds_at=item.holds_at,
            command=str(data.get("command", "")), is_measured=True, origin=origin,
            commit=str(data.get("commit") or ""), claims=_claims(data),
            columns=rows[0] if rows else (), table=tuple(rows[1:]),
        )  # fmt: skip
    return ExperimentView(
        name=item.name, title=item.title, where=item.where, holds_at=item.holds_at,
        command=f"faultyard experiment {item.name}", is_measured=False, origin="",
        commit="", claims=(), columns=(), table=(),
    )  # fmt: skip


def _claims(data: dict[str, Any]) -> tuple[ClaimView, ...]:
    found = data.get("claims")
    return tuple(
        ClaimView(
            text=str(claim.get("text", "")), paper=str(claim.get("paper", "")),
            ours=str(claim.get("ours", "")), is_reached=claim.get("is_reached") is True,
        )
        for claim in (found if isinstance(found, list) else ())
        if isinstance(claim, dict)
    )  # fmt: skip


def _read_json(path: Path) -> dict[str, Any] | None:
    raw = _read(path)
    if raw is None:
        return None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _read_table(path: Path) -> list[tuple[str, ...]]:
    raw = _read(path)
    text = "" if raw is None else raw.decode("utf-8", "replace")
    try:
        return [tuple(row) for row in csv.reader(text.splitlines())]
    except csv.Error:
        return []


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return None
