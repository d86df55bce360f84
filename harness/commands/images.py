"""`faultyard images build`: the images that `runtime: docker` needs."""

from __future__ import annotations

import contextlib
import time
from typing import Annotated

import typer

app = typer.Typer(help="Images for `runtime: docker`.", no_args_is_help=True)


@app.callback()
def images() -> None:
    """Images for `runtime: docker`."""


@app.command("build")
def build(
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Make the base with debootstrap; pull nothing."),
    ] = False,
    context: Annotated[
        str | None, typer.Option(help="Docker context.  [default: the current one]")
    ] = None,
) -> int:
    """Make the trainer image, unless it is up to date.

    Exit code: 0 it is there; 3 the daemon, a registry or a tool is missing.
    """
    from harness.commands.terminal import output
    from harness.images import build as make
    from harness.images import client

    console = output()
    began_s = time.monotonic()

    def tell(text: str) -> None:
        console.print(f"{time.monotonic() - began_s:7.1f} s  {text}", soft_wrap=True)

    with contextlib.closing(client(context)) as made:
        name = make(made, offline=offline, tell=tell)
    tell(f"{name} is ready")
    return 0
