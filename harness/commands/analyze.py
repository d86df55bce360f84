"""`faultyard analyze`: evidence, brought along or stored, through the same deciders."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from harness.commands.detector import detector
from harness.commands.fabric_seeds import fabric_seeds
from harness.commands.options import DEFAULT_RUNS, AsJson
from harness.commands.reanalyze import reanalyze
from harness.commands.timings import timings

if TYPE_CHECKING:
    from rich.console import Console

    from harness.flight_analysis import Analysis
    from harness.store import RunDirectory
    from scout.flight_recorder import GroupFinding

DEFAULT_SILENCE_S = 30.0
RUN = "run"


class RunByDefault(typer.core.TyperGroup):
    """`analyze RUN` is `analyze run RUN`: a first word that is no command is a run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command for runs in front of what names none."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = [RUN, *args]
        return super().parse_args(ctx, args)


def make_analyze() -> typer.Typer:
    """The group of `analyze` commands; a first word that is none of them is a run."""
    app = typer.Typer(
        cls=RunByDefault,
        help="Decide again on evidence: `analyze RUN --kappa ...` on a run's own, "
        "`analyze flight-recorder DIR` on that of a job that ran elsewhere.",
        no_args_is_help=True,
    )
    app.callback()(lambda: None)  # keeps a single command's name on the command line
    app.command("flight-recorder")(flight_recorder)
    app.command("timings")(timings)
    app.command("fabric")(fabric_seeds)
    app.command("detector")(detector)
    app.command(RUN)(reanalyze)
    return app


def flight_recorder(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with one dump per rank.")
    ],
    prefix: Annotated[
        str | None,
        typer.Option(help="What stands before the rank in the files' names."),
    ] = None,
    silence_s: Annotated[
        float,
        typer.Option(
            "--silence",
            min=0,
            help="Seconds without progress after which a rank is stuck; 0: the job is "
            "known to hang.",
        ),
    ] = DEFAULT_SILENCE_S,
    ranks: Annotated[
        int | None,
        typer.Option(min=1, help="Ranks of the job; default: as the dumps show."),
    ] = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete",
            help="Every dump that was written is in DIR: who has none is silent.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            envvar="FAULTYARD_RUNS_DIR",
            help="Folder of run directories to keep the analysis in.  "
            f"[default: {DEFAULT_RUNS}]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Read PyTorch flight-recorder dumps and say who stopped first, in each group.

    Exit code: 0 somebody is named, or nothing is stuck; 2 nobody can be named; 3 a file
    cannot be read; 64 a dump or the command is wrong.
    """
    from harness.commands.terminal import output, plain
    from harness.errors import InfrastructureError, UsageError
    from harness.flight_analysis import analyze, write
    from harness.flight_folder import read
    from scout.errors import DumpError

    words = ["faultyard", "analyze", "flight-recorder", str(folder.resolve())]
    words += ["--prefix", prefix] if prefix is not None else []
    words += ["--silence", f"{silence_s:g}"]
    words += ["--ranks", str(ranks)] if ranks is not None else []
    words += ["--complete"] if complete else []
    try:
        analysis = analyze(
            read(folder, prefix),
            silence_s=silence_s,
            num_ranks=ranks,
            all_dumps_given=complete,
        )
    except DumpError as error:
        raise UsageError(str(error)) from None
    try:
        run = write(analysis, out or DEFAULT_RUNS, command=shlex.join(words))
    except OSError as error:
        raise InfrastructureError(f"cannot keep the analysis: {error}") from None
    if as_json:
        plain(json.dumps(as_data(analysis, run), indent=1))
    else:
        _print(analysis, run, output())
    return analysis.exit_code


def as_data(analysis: Analysis, run: RunDirectory) -> dict[str, Any]:
    """The analysis as plain data, for programs."""
    from harness.flight_analysis import verdicts
    from vocab.codec import to_json
    from vocab.names import rank_name

    return {
        "format": 1,
        "folder": str(analysis.folder.path),
        "prefix": analysis.folder.prefix,
        "ignored_files": list(analysis.folder.ignored),
        "versions": sorted({dump.version for dump in analysis.folder.dumps}),
        "ranks": len(analysis.world),
        "missing": [rank_name(rank) for rank in analysis.missing],
        "silence_s": analysis.silence_s,
        "blamed": [rank_name(rank) for rank in analysis.blamed],
        "summary": analysis.summary,
        "groups": [
            {
                "group": item.group.label,
                "members_are_certain": item.group.is_certain,
                "verdict": to_json(verdict),
            }
            for item, verdict in zip(analysis.found, verdicts(analysis), strict=True)
        ],
        "exit_code": analysis.exit_code,
        "run_id": run.run_id,
        "path": str(run.path),
    }


def _print(analysis: Analysis, run: RunDirectory, console: Console) -> None:
    from harness.views.wording import names
    from vocab.names import rank_name

    folder = analysis.folder
    console.print(analysis.summary, style="bold", soft_wrap=True)
    console.print(
        f"dumps    {len(folder.dumps)} of {len(analysis.world)} ranks, "
        f"{folder.prefix}* in {folder.path}",
        soft_wrap=True,
    )
    if analysis.missing:
        missing = names(tuple(map(rank_name, analysis.missing)))
        console.print(f"missing  {missing}", style="yellow", soft_wrap=True)
    told = [item for item in analysis.found if not _is_quiet(item)]
    for item in told:
        _print_group(item, console)
    console.print()
    if len(told) < len(analysis.found):
        number = len(analysis.found) - len(told)
        console.print(
            f"{number} group{'' if number == 1 else 's'} with nothing pending"
        )
    console.print(f"{'Kept in':32} {run.path}", soft_wrap=True)
    console.print(f"{'Report with':32} faultyard report {run.run_id}")


def _is_quiet(item: GroupFinding) -> bool:
    return item.finding.reason_code == "all_done"


def _print_group(item: GroupFinding, console: Console) -> None:
    from harness.views.wording import names
    from vocab.names import rank_name

    found = item.finding
    who = names(tuple(map(rank_name, found.blamed)))
    lines = [
        ("why", found.reason),
        ("sure", f"{found.k} of {found.n} agree"),
        ("victims", names(tuple(map(rank_name, found.victims)), "")),
        ("needed", found.needed or ""),
        ("next", found.action.value),
    ]
    console.print()
    console.print(f"{item.group.label}: {who} ({found.state.value}, "
                  f"{found.reason_code})", style="bold", soft_wrap=True)  # fmt: skip
    for name, text in lines:
        if text:
            console.print(f"  {name:8} {text}", soft_wrap=True)
