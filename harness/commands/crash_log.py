"""What a rank that died of an error has written last: its traceback.

Called by `run` after the summary. Of ranks that died alike only the first is shown:
errors spread.
"""

from __future__ import annotations

from rich.console import Console

from harness.store import RunDirectory
from vocab.events import ProcessExited

_TAIL_BYTES = 16_384
_MOST_LINES = 30
_BEGINS = "Traceback (most recent call last):"


def print_tracebacks(run: RunDirectory, console: Console) -> None:
    """The newest traceback in the log of the first rank that ended with an error."""
    for name in _failed(run):
        path = run.logs / f"{name}.log"
        lines = _traceback(path.read_bytes()[-_TAIL_BYTES:]) if path.is_file() else []
        if lines:
            console.print()
            console.print(f"{name} ended with an error; from {path}:", soft_wrap=True)
            for line in lines:
                console.print(f"  {line}", soft_wrap=True)
            return


def _failed(run: RunDirectory) -> list[str]:
    """Ranks that ended by themselves with an exit code, in their order."""
    return [
        stamped.event.name
        for stamped in run.reader().read(sources="harness").events
        if isinstance(stamped.event, ProcessExited)
        and stamped.event.name.startswith("rank")
        and stamped.event.exit_code
    ]


def _traceback(tail: bytes) -> list[str]:
    lines = tail.decode(errors="replace").splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(_BEGINS)]
    if not starts:
        # A script that is no Python has no traceback, only its error.
        return lines[-3:]
    return lines[starts[-1] :][:_MOST_LINES]
