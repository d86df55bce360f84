"""`faultyard show`: one run, or one scenario, in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from pathlib import Path


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_SCENARIO", help="Run id, `last`, scenario name, or file."
        ),
    ],
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: AsJson = False,
) -> int:
    """Show a run (also one that goes on, or was killed) or a scenario."""
    from harness.commands.choose import LAST
    from harness.store import is_run_id

    if what == LAST or is_run_id(what):
        return _show_run(what, runs_dir, as_json=as_json)
    return _show_scenario(what, as_json=as_json)


def _show_run(word: str, runs_dir: Path, *, as_json: bool) -> int:
    from harness.commands.choose import run_of
    from harness.commands.summary import print_view
    from harness.commands.terminal import output, plain
    from harness.report import as_json as view_as_json
    from harness.views.run import build
    from harness.views.source import RunLog

    view = build(RunLog(run_of(word, runs_dir)).read())
    if as_json:
        plain(view_as_json(view).decode())
    else:
        print_view(view, output())
    return 0


def _show_scenario(word: str, *, as_json: bool) -> int:
    from harness.commands.choose import scenario_file
    from harness.commands.terminal import plain
    from harness.scenario import load, to_yaml

    _, path = scenario_file(word)
    scenario = load(path)
    if as_json:
        plain(scenario.model_dump_json(indent=1))
    else:
        plain(f"# {path}\n{to_yaml(scenario)}")
    return 0
