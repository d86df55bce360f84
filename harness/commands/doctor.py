"""`faultyard doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

from harness.commands.options import DEFAULT_RUNS, RunsDir


def doctor(runs_dir: RunsDir = DEFAULT_RUNS) -> int:
    """Check this machine. Exit code 3 if something needed is missing."""
    from rich.text import Text

    from harness.commands.terminal import output, table
    from harness.machine import examine

    items = list(examine(runs_dir))
    shown = table("", "what", "found", "how to get it")
    for item in items:
        word, style = ("ok", "green") if item.is_ok else ("MISSING", "bold red")
        if not item.is_ok and item.is_optional:
            word, style = "optional", "yellow"
        shown.add_row(Text(word, style=style), item.name, item.found, item.fix)
    console = output()
    console.print(shown)
    missing = [item.name for item in items if not item.is_ok and not item.is_optional]
    if missing:
        console.print(f"\nMissing: {', '.join(missing)}")
        return 3
    console.print("\nEverything that is needed is there. Next: faultyard demo")
    return 0
