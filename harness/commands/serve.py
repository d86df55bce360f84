"""`faultyard serve`: the dashboard, on this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, RunsDir

DEFAULT_PORT = 8321

Host = Annotated[str, typer.Option(help="Loopback address to listen on.")]
Port = Annotated[int, typer.Option(min=1, max=65_535, help="TCP port to listen on.")]


def serve(
    runs_dir: RunsDir = DEFAULT_RUNS,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
) -> int:
    """Serve the dashboard until Ctrl-C."""
    return serve_runs(runs_dir, host=host, port=port)


def serve_runs(runs_dir: Path, *, host: str, port: int) -> int:
    """Listen, and say where; returns when interrupted."""
    from harness.commands.terminal import plain
    from harness.errors import UsageError
    from harness.runtime.warm import kept_warm
    from webapp.serve import serve as listen
    from webapp.settings import Settings

    try:
        settings = Settings(runs_root=runs_dir.resolve(), host=host, port=port)
    except ValueError as error:
        raise UsageError(str(error)) from None
    with kept_warm():
        listen(settings, lambda url: plain(f"Dashboard: {url}  (Ctrl-C ends it)"))
    return 0
