"""`faultyard demo`: the main job four times, each culprit found; then the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, RunsDir
from harness.commands.run import exit_code, launch_and_watch
from harness.commands.serve import DEFAULT_PORT, Port, serve_runs

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

SCENARIOS = ("clean", "sdc-parameter", "straggler-forward", "hang-frozen-forward")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    name: str
    expected: str
    found: str
    outcome: str
    reason: str
    code: int


def demo(
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="Only run; do not serve afterwards.")
    ] = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
    port: Port = DEFAULT_PORT,
) -> int:
    """Train a 4-rank job clean, then with three faults, and name each culprit.

    Exit code 0 only if each run found exactly what it was to find.
    """
    from harness.commands.terminal import output
    from harness.runtime.warm import kept_warm

    console = output()
    shown = []
    with kept_warm():
        for number, name in enumerate(SCENARIOS, 1):
            console.print(f"\n[{number} of {len(SCENARIOS)}] {name}", style="bold")
            shown.append(_run_one(name, runs_dir))
    _print(console, shown)
    code = max(item.code for item in shown)
    if code == 0:
        console.print("All four found exactly what they were to find.", style="green")
    if no_serve or code:
        return code
    return serve_runs(runs_dir, host="127.0.0.1", port=port)


def _run_one(name: str, runs_dir: Path) -> _Shown:
    from harness.commands.summary import expected_text, found_text
    from harness.scenario import catalogue, load
    from harness.views.run import build
    from harness.views.source import RunLog

    scenario = load(catalogue()[name])
    run = launch_and_watch(scenario, name, f"faultyard run {name}", runs_dir)
    view = build(RunLog(run).read())
    return _Shown(
        name=name,
        expected=expected_text(view),
        found=found_text(view),
        outcome=view.outcome.value if view.outcome else view.outcome_text,
        reason=view.outcome_reason,
        code=exit_code(run),
    )


def _print(console: Console, shown: list[_Shown]) -> None:
    from rich.text import Text

    from harness.commands.terminal import OUTCOME_STYLES, table

    rows = table("scenario", "expected", "found", "outcome")
    for item in shown:
        style = OUTCOME_STYLES.get(item.outcome, "")
        rows.add_row(item.name, item.expected, item.found,
                     Text(item.outcome, style=style))  # fmt: skip
    console.print()
    console.print(rows)
    for item in shown:
        if item.code:
            console.print(f"{item.name}: {item.reason}", style="red", soft_wrap=True)
    console.print()
