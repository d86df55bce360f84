"""`faultyard run`: launch a job, watch it, end with its outcome as exit code."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from harness.scenario import Scenario
    from harness.store import RunDirectory


def run(
    scenario: Annotated[
        str | None, typer.Argument(help="Name (see `faultyard list`) or YAML file.")
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGS]...", help="Arguments of the --script."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change one field; repeatable."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Another seed; short for --set seed=N.")
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(help="Run a torchrun script of yours in place of a scenario."),
    ] = None,
    ranks: Annotated[int | None, typer.Option(help="Ranks of the script.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Leave the script after so many optimizer steps.  [default: 100]"
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[,FIELD=VALUE...]",
            help="Inject a fault into the script's job; repeatable.",
        ),
    ] = None,
    rank: Annotated[int | None, typer.Option(help="Rank that --fault strikes.")] = None,
    at_step: Annotated[
        int | None, typer.Option(help="First step at which --fault strikes.")
    ] = None,
    faults: Annotated[
        Path | None,
        typer.Option(help="YAML file with faults, as a scenario lists them."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[,FIELD=VALUE...]",
            help="What must be found, or `nobody`.  [default: as the faults imply]",
        ),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: AsJson = False,
) -> int:
    """Run a scenario, or a training script of yours, and say who was found.

    Exit code: 0 found what was expected; 1 found something else; 2 inconclusive, not
    injected or cancelled; 3 infrastructure error; 64 the command or scenario is wrong.
    """
    from harness.commands.own_script import OwnScript, of_script, refuse_without_script

    if script is not None:
        asked = OwnScript(
            script=script,
            ranks=ranks,
            steps=steps,
            faults=tuple(fault or ()),
            rank=rank,
            at_step=at_step,
            faults_file=faults,
            expect=tuple(expect or ()),
            args=(*(() if scenario is None else (scenario,)), *(arguments or ())),
            seed=seed,
            settings=tuple(settings or ()),
        )
        return _run(*of_script(asked), runs_dir, as_json)
    refuse_without_script(
        {"--ranks": ranks, "--steps": steps, "--fault": fault, "--rank": rank,
         "--at-step": at_step, "--faults": faults, "--expect": expect},
        arguments or (),
    )  # fmt: skip
    return _run(*_of_scenario(scenario, settings or (), seed), runs_dir, as_json)


def _of_scenario(
    word: str | None, settings: Sequence[str], seed: int | None
) -> tuple[Scenario, str, str]:
    """(scenario, name, command) of a scenario that is named."""
    from harness.commands.choose import scenario_file
    from harness.errors import UsageError
    from harness.scenario import load

    if word is None:
        raise UsageError("name a scenario (see `faultyard list`), or give --script")
    name, path = scenario_file(word)
    chosen = list(settings)
    if seed is not None:
        chosen.append(f"seed={seed}")
    loaded = load(path, settings=chosen)
    words = ["faultyard", "run", name if word == name else str(path.resolve())]
    for setting in chosen:
        words += ["--set", setting]
    return loaded, name, shlex.join(words)


def _run(
    loaded: Scenario, name: str, command: str, runs_dir: Path, as_json: bool
) -> int:  # fmt: skip
    from harness.commands.crash_log import print_tracebacks
    from harness.commands.summary import print_view
    from harness.commands.terminal import output
    from harness.views.run import build
    from harness.views.source import RunLog

    if as_json:
        return _run_as_json(loaded, name, command, runs_dir)
    directory = launch_and_watch(loaded, name, command, runs_dir)
    console = output()
    console.print()
    print_view(build(RunLog(directory).read()), console)
    console.print(f"{'Report with':32} faultyard report {directory.run_id}")
    print_tracebacks(directory, console)
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
