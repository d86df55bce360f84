"""Options that several commands share, so that they are the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_RUNS = Path("runs")

RunsDir = Annotated[
    Path,
    typer.Option(
        "--runs-dir",
        envvar="FAULTYARD_RUNS_DIR",
        help="Folder of run directories.",
        show_default=True,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="Run id, or `last` for the newest.")
]
