"""`faultyard serve`: the dashboard; for other machines only with a token."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, RunsDir

DEFAULT_PORT = 8321

Host = Annotated[
    str, typer.Option(help="Address to listen on; beyond loopback only with a token.")
]
Port = Annotated[int, typer.Option(min=1, max=65_535, help="TCP port to listen on.")]


def serve(
    runs_dir: RunsDir = DEFAULT_RUNS,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that others must know; or the "
            "environment's FAULTYARD_TOKEN."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which other machines call this one; repeatable."),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(
            help="POST every verdict to this address; signed where "
            "FAULTYARD_WEBHOOK_SECRET is set."
        ),
    ] = None,
) -> int:
    """Serve the dashboard until Ctrl-C."""
    return serve_runs(
        runs_dir,
        host=host,
        port=port,
        token=_token(token_file),
        allowed_hosts=tuple(allowed_host or ()),
        webhook=webhook,
    )


def serve_runs(
    runs_dir: Path,
    *,
    host: str,
    port: int,
    token: str = "",
    allowed_hosts: tuple[str, ...] = (),
    webhook: str | None = None,
) -> int:
    """Listen, and say where; returns when interrupted."""
    from harness.commands.terminal import plain
    from harness.errors import UsageError
    from harness.runtime.warm import kept_warm
    from webapp.serve import address
    from webapp.serve import serve as listen
    from webapp.settings import Settings
    from webapp.webhook import Hook

    try:
        settings = Settings(
            runs_root=runs_dir.resolve(),
            host=host,
            port=port,
            token=token,
            allowed_hosts=allowed_hosts,
        )
        hook = (
            None
            if webhook is None
            else Hook(
                url=webhook,
                secret=os.environ.get("FAULTYARD_WEBHOOK_SECRET", ""),
                base_url=address(settings),
            )
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    with kept_warm():
        listen(settings, lambda url: plain(f"Dashboard: {url}  (Ctrl-C ends it)"), hook)
    return 0


def _token(file: Path | None) -> str:
    """The token of a file, else of the environment; "" for none."""
    from harness.errors import UsageError

    if file is None:
        return os.environ.get("FAULTYARD_TOKEN", "")
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {file}: cannot be read: {error}") from None
