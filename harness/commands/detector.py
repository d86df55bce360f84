"""`faultyard analyze detector`: a detector of the user's, scored beside SCOUT."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from harness.plugin import PluginResult
    from harness.results import Results
    from harness.store import RunDirectory


def detector(
    command: Annotated[
        str, typer.Argument(help="The detector, such as 'python my_detector.py'.")
    ],
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Runs to put through it.  [default: all of the folder]"),
    ] = None,
    timeout_s: Annotated[
        float,
        typer.Option("--timeout", min=0.1, help="Seconds that a run may take it."),
    ] = 60.0,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: AsJson = False,
) -> int:
    """Put stored runs through a detector of yours, and score it beside SCOUT.

    It reads a run's evidence as JSON lines, without the truth, and writes verdicts; see
    docs/plug-in-detectors.md.

    Exit code: 0 it was right everywhere; 1 it was not; 3 it failed; 64 the command is
    wrong.
    """
    from harness.commands.choose import run_of
    from harness.commands.terminal import plain
    from harness.errors import UsageError
    from harness.plugin import run_detector
    from harness.results import Outcome
    from harness.store import Store
    from vocab.codec import to_json

    words = shlex.split(command)
    if not words:
        raise UsageError("the detector is ''; allowed: a program and its arguments")
    if runs:
        chosen = [run_of(word, runs_dir) for word in runs]
    else:
        chosen = [run for run in Store(runs_dir).runs() if run.results()]
    if not chosen:
        raise UsageError(f"no finished runs in {runs_dir}")
    found = [(run, run_detector(words, run, timeout_s=timeout_s)) for run in chosen]
    if as_json:
        plain(json.dumps([to_json(result) for _, result in found], indent=1))
    else:
        _print(found)
    is_right = all(r.results.outcome is Outcome.PASS for _, r in found)
    return 0 if is_right else 1


def _print(found: list[tuple[RunDirectory, PluginResult]]) -> None:
    from harness.commands.terminal import OUTCOME_STYLES, output, table

    console = output()
    rows = table("run", "expected", "SCOUT", "", "yours", "")
    for run, result in found:
        own = run.results()
        rows.add_row(
            run.run_id,
            _expected(result.results),
            _said(own) if own else "no results",
            f"[{own.outcome.value}]" if own else "",
            _said(result.results),
            f"[{result.results.outcome.value}]",
            style=OUTCOME_STYLES.get(result.results.outcome.value, ""),
        )
    console.print(rows)
    console.print()
    number = len(found)
    for name, results in (
        ("SCOUT", [run.results() for run, _ in found]),
        ("yours", [result.results for _, result in found]),
    ):
        known = [item for item in results if item is not None]
        missed = sum(item.is_missed for r in known for item in r.incidents)
        blames = sum(bool(extra.blamed) for r in known for extra in r.extras)
        right = sum(r.outcome.value == "pass" for r in known)
        console.print(f"{name:6} right in {right} of {number} runs; {missed} missed, "
                      f"{blames} blamed wrongly")  # fmt: skip


def _expected(results: Results) -> str:
    return "; ".join(
        f"{item.kind.value} {' '.join(item.targets)}".strip()
        for item in results.incidents
    ) or "nobody"  # fmt: skip


def _said(results: Results) -> str:
    found = [f"{item.kind.value} {' '.join(item.targets)}".strip()
             for item in results.incidents if item.found]  # fmt: skip
    found += [f"{extra.kind.value} {' '.join(extra.blamed)}!".strip()
              for extra in results.extras]  # fmt: skip
    return "; ".join(found) or "nobody"
