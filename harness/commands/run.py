"""`faultyard run`: launch a scenario, watch it, end with its outcome as exit code."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from harness.scenario import Scenario
    from harness.store import RunDirectory


def run(
    scenario: Annotated[
        str, typer.Argument(help="Name (see `faultyard list`) or YAML file.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change one field; repeatable."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Another seed; short for --set seed=N.")
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: AsJson = False,
) -> int:
    """Run a scenario and say who was found.

    Exit code: 0 found what was expected; 1 found something else; 2 inconclusive, not
    injected or cancelled; 3 infrastructure error; 64 the command or scenario is wrong.
    """
    from harness.commands.choose import scenario_file
    from harness.commands.summary import print_view
    from harness.commands.terminal import output
    from harness.scenario import load
    from harness.views.run import build
    from harness.views.source import RunLog

    name, path = scenario_file(scenario)
    chosen = list(settings or [])
    if seed is not None:
        chosen.append(f"seed={seed}")
    loaded = load(path, settings=chosen)
    words = ["faultyard", "run", name if scenario == name else str(path.resolve())]
    for setting in chosen:
        words += ["--set", setting]
    if as_json:
        return _run_as_json(loaded, name, shlex.join(words), runs_dir)
    directory = launch_and_watch(loaded, name, shlex.join(words), runs_dir)
    console = output()
    console.print()
    print_view(build(RunLog(directory).read()), console)
    console.print(f"{'Report with':32} faultyard report {directory.run_id}")
    return exit_code(directory)


def launch_and_watch(
    scenario: Scenario, name: str, command: str, runs_dir: Path
) -> RunDirectory:
    """Start a run and show it until it is over."""
    from harness.commands.live import watch
    from harness.commands.terminal import output
    from harness.launch import launch

    console = output()
    console.print(scenario.title, style="bold")
    directory = launch(scenario, runs_root=runs_dir, name=name, command=command)
    console.print(f"run      {directory.path}", soft_wrap=True)
    watch(directory, scenario, console)
    return directory


def exit_code(directory: RunDirectory) -> int:
    """The exit code of a run that is over; without results something broke."""
    from harness.results import EXIT_CODES, Outcome

    results = directory.results()
    return EXIT_CODES[results.outcome if results else Outcome.INFRASTRUCTURE]


def _run_as_json(scenario: Scenario, name: str, command: str, runs_dir: Path) -> int:
    from harness.commands.terminal import plain
    from harness.launch import follow, launch
    from vocab.codec import to_json

    directory = launch(scenario, runs_root=runs_dir, name=name, command=command)
    for _ in follow(directory):
        pass
    answer = {
        "run_id": directory.run_id,
        "path": str(directory.path),
        "exit_code": exit_code(directory),
        "results": to_json(directory.results()),
    }
    plain(json.dumps(answer, indent=1))
    return exit_code(directory)
