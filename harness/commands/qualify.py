"""`faultyard qualify`: a suite, its live matrix, and a report that a board can read."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.campaign import list_cases, say, suite_file
from harness.commands.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, Group
    from rich.table import Table

    from harness.campaign_run import Progress
    from harness.qualification import Qualification
    from harness.qualify_run import Order

    Tell = Callable[[Qualification, Progress], None]


def qualify(
    suite: Annotated[
        str, typer.Argument(help="Name (see scenarios/suites) or YAML file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the result.  [default: qualifications/NAME]"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run only what is missing in the folder.")
    ] = False,
    workers: Annotated[
        int,
        typer.Option(min=1, max=64, help="Runs side by side, where nothing is timed."),
    ] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cases; run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run a suite and say pass, fail or inconclusive against its criteria.

    Writes report.html, .pdf, .json, .csv, .junit.xml, .ctrf.json, .ocp.jsonl,
    .trace.json and report.zip (all evidence; see `faultyard verify`) into the folder.

    Exit code: 0 pass; 1 fail; 2 inconclusive; 3 infrastructure error; 64 the command or
    a file is wrong.
    """
    from harness.campaign_run import default_folder
    from harness.qualify_run import Order

    path = suite_file(suite)
    if dry_run:
        from harness.campaign import plan

        return list_cases(plan(path, to_qualify=True))
    name = suite if suite == path.stem else str(path.resolve())
    order = Order(
        suite=path,
        folder=(out or default_folder(path, "qualifications")).resolve(),
        command=shlex.join(["faultyard", "qualify", name]),
        resume=resume,
        num_workers=workers,
    )
    return _run(order, as_json=as_json)


def _run(order: Order, *, as_json: bool) -> int:
    from harness.commands.terminal import output, plain
    from harness.errors import InfrastructureError
    from harness.qualification_report import FORMATS, write_all
    from harness.qualify_run import qualify as run_suite
    from harness.runtime.warm import kept_warm

    console = output()
    is_live = sys.stdout.isatty() and not as_json
    try:
        with kept_warm(), _telling(console, is_live, is_quiet=as_json) as tell:
            report = run_suite(order, tell=tell)
        written = write_all(report, order.folder)
    except OSError as error:
        raise InfrastructureError(f"folder {order.folder}: {error}") from None
    if as_json:
        plain(FORMATS["json"].make(report).decode())
    else:
        _print(report, console, shows_matrix=not is_live)
        for path in written:
            console.print(f"{'Report':12} {path}", soft_wrap=True)
    return report.exit_code


@contextlib.contextmanager
def _telling(console: Console, is_live: bool, *, is_quiet: bool) -> Iterator[Tell]:
    """What to call with the progress: a matrix for a terminal, lines for a pipe."""
    if is_quiet:
        yield lambda report, progress: None
    elif not is_live:
        yield lambda report, progress: say(console, progress)
    else:
        from rich.live import Live

        with Live(console=console, auto_refresh=False) as live:
            yield lambda report, progress: live.update(
                _screen(report, progress), refresh=True
            )


def _screen(report: Qualification, progress: Progress) -> Group:
    from rich.console import Group
    from rich.text import Text

    from harness.views import wording

    eta = "" if progress.eta_s is None or not progress.running else (
        f", about {wording.seconds(float(round(progress.eta_s)))} left"
    )  # fmt: skip
    head = f"{report.title}: {wording.k_of_n(progress.num_done, progress.num_cases)}"
    going = f"\n● {', '.join(progress.running)}" if progress.running else ""
    return Group(Text(f"{head}{eta}{going}"), _matrix(report, progress.running))


def _matrix(report: Qualification, running: tuple[str, ...] = ()) -> Table:
    from rich.text import Text

    from harness.commands.terminal import OUTCOME_STYLES, table
    from harness.views.matrix import build

    rows = table("class", "scenario", "seeds")
    for row in build(report, running):
        cells = Text()
        for cell in row.cells:
            cells.append(f"{cell.glyph} ", style=OUTCOME_STYLES.get(cell.status, ""))
        rows.add_row(row.fault_class, row.name, cells)
    return rows


def _print(report: Qualification, console: Console, *, shows_matrix: bool) -> None:
    from harness.commands.terminal import OUTCOME_STYLES, table

    console.print()
    if shows_matrix:
        console.print(_matrix(report))
        console.print()
    rows = table("fault class", "cases", "recall", "exact", "false blames per hour",
                 "localization, 90 %", "overhead")  # fmt: skip
    shown = ("recall", "exact", "false_blames_per_hour", "localization_p90_s",
             "overhead")  # fmt: skip
    for row in report.classes:
        figures = [row.figure(name).text for name in shown]
        rows.add_row(row.name, f"{row.num_done} of {row.num_cases}", *figures)
    console.print(rows)
    console.print()
    for item in report.judgements:
        style = OUTCOME_STYLES[item.ruling.value]
        console.print(
            f"{item.ruling.value:13} {item.subject}: {item.label} {item.figure_text}; "
            f"{item.limit_text}", style=style, soft_wrap=True,
        )  # fmt: skip
    for case in report.cases:
        if case.status not in ("pass", "planned"):
            console.print(f"not passed    {case.case_id}: {case.status}: {case.reason} "
                          f"({case.run_id})", soft_wrap=True)  # fmt: skip
    console.print()
    console.print(f"{report.ruling.value.upper()}: {report.reason}", soft_wrap=True,
                  style=OUTCOME_STYLES[report.ruling.value])  # fmt: skip
