"""`faultyard report`: one run as HTML, JSON or JUnit XML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, RunId, RunsDir


def report(
    run: RunId,
    format: Annotated[
        str, typer.Option("--format", "-f", help="html, json, junit, fabric-csv, -svg.")
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, `-` for standard output; default: "
            "report.* in the run's folder.",
        ),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
) -> int:
    """Export a run's report; the same figures as page and JSON."""
    from harness.commands.choose import run_of
    from harness.commands.terminal import plain
    from harness.errors import InfrastructureError, UsageError
    from harness.report import FORMATS, render

    if format not in FORMATS:
        allowed = ", ".join(FORMATS)
        raise UsageError(f"--format is {format!r}; allowed: {allowed}")
    directory = run_of(run, runs_dir)
    data = render(directory, format)
    if out is not None and str(out) == "-":
        sys.stdout.buffer.write(data)
        return 0
    path = out or directory.path / f"report.{FORMATS[format].suffix}"
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InfrastructureError(f"cannot write the report: {error}") from None
    plain(str(path))
    return 0
