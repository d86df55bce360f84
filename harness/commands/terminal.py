"""Where commands write: a terminal gets colour, a pipe gets plain lines.

Called by every command. Errors go to standard error, one line each.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 160  # a table in a pipe is not cut at 80 columns

OUTCOME_STYLES = {
    "pass": "green",
    "fail": "bold red",
    "inconclusive": "yellow",
    "not-injected": "yellow",
    "infrastructure-error": "bold magenta",
    "cancelled": "dim",
}


def output() -> Console:
    """Standard output."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False,
                   emoji=False)  # fmt: skip


def plain(text: str) -> None:
    """Write text to standard output as it is: JSON, schemas, reports."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write an error to standard error."""
    sys.stderr.write(f"faultyard: {text}\n")


def table(*headings: str) -> Table:
    """An empty table without frames: reads well in a pipe too."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made
