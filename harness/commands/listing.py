"""`faultyard list`: the scenarios that can be launched and the runs there are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from rich.console import Console

    from harness.index import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRow:
    """One scenario that ships; `problem` says why it cannot be launched."""

    name: str
    title: str
    num_ranks: int | None
    faults: tuple[str, ...]
    problem: str = ""


def list_all(
    runs_dir: RunsDir = DEFAULT_RUNS,
    limit: Annotated[int, typer.Option(min=1, help="Newest runs to show.")] = 20,
    outcome: Annotated[
        str | None, typer.Option(help="Only runs of this outcome, such as `fail`.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List scenarios and runs."""
    from harness.commands.terminal import output, plain
    from harness.errors import UsageError
    from harness.index import Index
    from harness.queue import live_run_ids
    from harness.results import Outcome

    if outcome is not None and outcome not in list(Outcome):
        allowed = ", ".join(item.value for item in Outcome)
        raise UsageError(f"--outcome is {outcome!r}; allowed: {allowed}")
    rows: list[Row] = []
    if runs_dir.is_dir():
        index = Index.of(runs_dir)
        index.sync()
        rows = index.rows(limit=limit, outcome=outcome)
    live = set(live_run_ids(runs_dir.resolve()))
    if as_json:
        runs = [{**asdict(row), "is_live": row.run_id in live} for row in rows]
        known = [asdict(row) for row in scenario_rows()]
        plain(json.dumps({"scenarios": known, "runs": runs}, indent=1))
        return 0
    console = output()
    _print_scenarios(console)
    console.print()
    if rows:
        _print_runs(console, rows, live)
    else:
        which = "runs" if outcome is None else f"runs of outcome {outcome}"
        console.print(f"No {which} in {runs_dir}. Start one: faultyard run clean")
    return 0


def scenario_rows() -> list[ScenarioRow]:
    """Every scenario that ships."""
    from harness.errors import ScenarioError
    from harness.scenario import catalogue, load

    found = []
    for name, path in catalogue().items():
        try:
            loaded = load(path)
        except ScenarioError as error:
            found.append(ScenarioRow(name=name, title="", num_ranks=None, faults=(),
                                     problem=str(error)))  # fmt: skip
            continue
        kinds = tuple(fault.kind for fault in loaded.faults)
        found.append(ScenarioRow(name=name, title=loaded.title, faults=kinds,
                                 num_ranks=loaded.num_ranks))  # fmt: skip
    return found


def _print_scenarios(console: Console) -> None:
    from harness.commands.terminal import table

    shown = table("scenario", "ranks", "faults", "title")
    for row in scenario_rows():
        ranks = "?" if row.num_ranks is None else str(row.num_ranks)
        faults = ", ".join(row.faults) or "none"
        shown.add_row(row.name, ranks, faults, row.title or row.problem)
    console.print(shown)


def _print_runs(console: Console, rows: list[Row], live: set[str]) -> None:
    from rich.text import Text

    from harness.commands.terminal import OUTCOME_STYLES, table
    from harness.views import wording

    shown = table("run", "outcome", "expected", "found", "wall")
    for row in rows:
        over = "analysed" if row.ended_reason == "analysed" else "killed"
        word = row.outcome or ("running" if row.run_id in live else over)
        wall = "" if row.wall_s is None else wording.seconds(row.wall_s)
        shown.add_row(
            row.run_id,
            Text(word, style=OUTCOME_STYLES.get(word, "cyan")),
            row.expected or "",
            row.found or "",
            wall,
        )
    console.print(shown)
