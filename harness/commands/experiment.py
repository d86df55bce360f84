"""`faultyard experiment NAME`: the evaluation of SprayCheck, repeated (sec. 5)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.options import AsJson

if TYPE_CHECKING:
    from harness.experiments.base import Experiment, Report

ALL = "all"


def experiment(
    name: Annotated[
        str | None, typer.Argument(help="Name, or `all`; absent: list them.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="Folder of tables and pictures; goes on where it ended."),
    ] = Path("experiments"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A few small points: does it work at all?")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Repeat an experiment of the SprayCheck paper on the simulator.

    Writes NAME.csv, NAME.svg and NAME.json into the folder, and keeps every measured
    point, so that a killed experiment goes on.

    Exit code: 0 every claim is reached; 1 one is not; 64 the command is wrong. A
    `--quick` run is too small for the claims and exits 0.
    """
    from harness.errors import InfrastructureError, UsageError
    from harness.experiments.registry import EXPERIMENTS

    if name is None:
        return _list(EXPERIMENTS)
    if name != ALL and name not in EXPERIMENTS:
        allowed = ", ".join([*EXPERIMENTS, ALL])
        raise UsageError(f"experiment is {name!r}; allowed: {allowed}")
    chosen = list(EXPERIMENTS.values()) if name == ALL else [EXPERIMENTS[name]]
    folder = out.resolve() / "quick" if quick else out.resolve()
    found = []
    try:
        for item in chosen:
            found.append(_run(item, folder, quick=quick, as_json=as_json))
    except OSError as error:
        raise InfrastructureError(f"folder {folder}: {error}") from None
    is_reached = all(claim["is_reached"] for data in found for claim in data["claims"])
    return 0 if is_reached or quick else 1


def _list(known: dict[str, Experiment]) -> int:
    from harness.commands.terminal import output, table

    rows = table("experiment", "shows", "paper")
    for item in known.values():
        rows.add_row(item.name, item.title, item.where)
    output().print(rows)
    return 0


def _run(
    item: Experiment, folder: Path, *, quick: bool, as_json: bool
) -> dict[str, Any]:
    from harness.commands.terminal import output, plain
    from harness.experiments.runner import measured, write

    command = f"faultyard experiment {item.name}" + (" --quick" if quick else "")
    began_s = time.monotonic()
    if as_json:
        rows = measured(item, folder, quick=quick, tell=lambda done, total: None)
    else:
        rows = _with_progress(item, folder, quick=quick)
    report = item.report(rows)
    data = write(item, report, folder, command)
    if as_json:
        plain(json.dumps(data))
        return data
    _print(item, report)
    took = time.monotonic() - began_s
    output().print(f"{folder / item.name}.csv, .svg, .json   {took:.1f} s",
                   soft_wrap=True)  # fmt: skip
    return data


def _with_progress(
    item: Experiment, folder: Path, *, quick: bool
) -> list[dict[str, Any]]:
    from rich.progress import Progress

    from harness.commands.terminal import output
    from harness.experiments.runner import measured

    with Progress(console=output(), transient=True) as bar:
        task = bar.add_task(item.name, total=None)
        return measured(
            item, folder, quick=quick,
            tell=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip


def _print(item: Experiment, report: Report) -> None:
    from harness.commands.terminal import output, table

    console = output()
    console.print()
    console.print(f"{item.title}  ({item.where})", style="bold")
    console.print(f"holds at: {item.holds_at}")
    rows = table(*report.columns)
    for line in report.table:
        rows.add_row(*(str(cell) for cell in line))
    console.print(rows)
    console.print()
    claims = table("claim", "paper", "here", "")
    for claim in report.claims:
        claims.add_row(claim.text, claim.paper, claim.ours,
                       "reached" if claim.is_reached else "NOT reached")  # fmt: skip
    console.print(claims)
