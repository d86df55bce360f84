"""`faultyard analyze timings`: stragglers in a table that another job has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import AsJson

if TYPE_CHECKING:
    from harness.timings import Straggler, Tradeoff


def timings(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet with the columns step, dp rank, stage, tp rank, "
            "operation, duration (seconds)."
        ),
    ],
    kappa: Annotated[
        float | None, typer.Option(help="Robust scales over the peers' median.")
    ] = None,
    confirmations: Annotated[
        int | None, typer.Option(min=1, help="Distinct steps that must agree.")
    ] = None,
    floor_s: Annotated[
        float | None, typer.Option("--floor", help="Least excess, seconds.")
    ] = None,
    floor_frac: Annotated[
        float | None, typer.Option("--floor-frac", help="Least excess, of the median.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say which data-parallel rank is slow, in which stage and operation.

    Peers share stage, tp rank and operation: stages are never compared. Exit code 0
    whether or not somebody is named; 3 the file cannot be read; 64 it is wrong.
    """
    from harness.commands.terminal import plain
    from harness.errors import InfrastructureError, UsageError
    from harness.timings import decide, read, tradeoff
    from scout.config import ScoutConfig
    from vocab.codec import to_json

    given = {"kappa": kappa, "confirmations": confirmations, "floor_abs_s": floor_s,
             "floor_rel": floor_frac}  # fmt: skip
    try:
        config = ScoutConfig(**{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        table = read(file)
    except OSError as error:
        raise InfrastructureError(f"{file} cannot be read: {error}") from None
    found, num_raw = decide(table, config)
    rows = tradeoff(table, config)
    if as_json:
        data = {
            "format": 1,
            "file": str(file),
            "num_peer_groups": len(table),
            "num_raw": num_raw,
            "stragglers": [to_json(item) for item in found],
            "tradeoff": [to_json(row) for row in rows],
        }
        plain(json.dumps(data, indent=1))
    else:
        _print(found, rows, num_groups=len(table), num_raw=num_raw)
    return 0


def _print(
    found: tuple[Straggler, ...],
    rows: tuple[Tradeoff, ...],
    *,
    num_groups: int,
    num_raw: int,
) -> None:
    from harness.commands.terminal import output, table
    from harness.views import wording

    console = output()
    console.print(
        f"{len(found)} confirmed of {num_raw} single outliers in {num_groups} peer "
        "groups (stage, tp rank, operation)",
        style="bold", soft_wrap=True,
    )  # fmt: skip
    if found:
        named = table("dp rank", "stage", "tp rank", "operation", "steps", "duration",
                      "threshold")  # fmt: skip
        for item in found:
            named.add_row(
                str(item.dp_rank), str(item.stage), str(item.tp_rank), item.operation,
                ", ".join(map(str, item.steps)), wording.seconds(item.value_s),
                wording.seconds(item.threshold_s),
            )  # fmt: skip
        console.print(named)
    console.print()
    choices = table("kappa", "single outliers", "confirmed")
    for row in rows:
        choices.add_row(f"{row.kappa:g}", str(row.num_raw), str(row.num_confirmed))
    console.print(choices)
