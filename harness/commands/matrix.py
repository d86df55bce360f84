"""`faultyard matrix sdc` and `matrix ablations`: SCOUT's evaluation as commands."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from harness.ablations import Arm
    from harness.campaign import Plan
    from harness.campaign_journal import CaseResult
    from harness.sdc_score import MatrixScore
    from harness.store import RunDirectory

app = typer.Typer(
    help="SCOUT's numerical matrix, and what each part of SCOUT buys on it.",
    no_args_is_help=True,
)
Seed = Annotated[int, typer.Option(min=0, help="Draws ranks, places and the order.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder; goes on where it ended.  [default: matrix/seed-SEED]"),
]
Cases = Annotated[
    int, typer.Option(min=1, max=344, help="Only so many of the faulty cases.")
]
Clean = Annotated[int, typer.Option(min=0, max=30, help="Fault-free jobs.")]


@app.command("sdc")
def sdc(
    seed: Seed = 1,
    out: Out = None,
    cases: Cases = 344,
    clean: Clean = 30,
    as_json: AsJson = False,
) -> int:
    """Run the numerical matrix: 344 wrong values in 8 jobs, and 30 clean jobs.

    Writes matrix.json, matrix.csv (a line a case) and matrix.svg into the folder.

    Exit code: 0 every rank named and nobody else; 1 one missed or wrong; 2 not all was
    measured; 3 infrastructure error; 64 the command is wrong.
    """
    from harness.commands.terminal import output, plain

    folder = _folder(out, seed)
    score = _matrix(folder, seed, cases, clean, is_quiet=as_json)
    options = [f"--seed {seed}", *_unless(cases, 344, "--cases"),
               *_unless(clean, 30, "--clean")]  # fmt: skip
    line = _line("faultyard matrix sdc " + " ".join(options), score)
    _write(folder, "matrix", line, _case_rows(score), _matrix_picture(score))
    if as_json:
        plain(line)
    else:
        _print_matrix(score, output())
        output().print(f"{'Written':10} {folder}/matrix.json, .csv, .svg")
    return score.exit_code


@app.command("ablations")
def ablations(
    seed: Seed = 1, out: Out = None, cases: Cases = 344, as_json: AsJson = False
) -> int:
    """Switch off one part of SCOUT after the other, on the same cases.

    Uses the matrix of the same folder, and runs it first where it is missing. Writes
    ablations.json, .csv and .svg.

    Exit code: 0 decided; 3 infrastructure error; 64 the command is wrong.
    """
    from harness.ablations import ablation_plan, arms
    from harness.commands.terminal import output, plain
    from harness.sdc_matrix import matrix_plan

    folder = _folder(out, seed)
    matrix, results = _run_all(
        [(matrix_plan(seed, num_cases=cases, num_clean=0), folder / "faulty"),
         (ablation_plan(seed, num_cases=cases), folder / "ablated")],
        is_quiet=as_json,
    )  # fmt: skip
    parts: dict[str, list[RunDirectory]] = {}
    for result in results:
        run = _run_of(folder / "ablated", result)
        parts.setdefault(result.part, []).append(run)
    found = arms(seed, [_run_of(folder / "faulty", r) for r in matrix], parts,
                 num_cases=cases)  # fmt: skip
    options = " ".join([f"--seed {seed}", *_unless(cases, 344, "--cases")])
    line = _line(f"faultyard matrix ablations {options}", list(found))
    from harness.plots import ablation_picture

    _write(folder, "ablations", line, _arm_rows(found), ablation_picture(found))
    if as_json:
        plain(line)
    else:
        _print_arms(found, output())
        output().print(f"{'Written':10} {folder}/ablations.json, .csv, .svg")
    return 0


def _matrix(
    folder: Path, seed: int, cases: int, clean: int, *, is_quiet: bool
) -> MatrixScore:
    from harness.analyze import checks_of
    from harness.sdc_matrix import matrix_plan, placed
    from harness.sdc_score import Finished, score_matrix

    plans = [(matrix_plan(seed, num_cases=cases, num_clean=0), folder / "faulty")]
    if clean:
        plan = matrix_plan(seed, num_cases=1, num_clean=clean)
        plans.append((_only_clean(plan), folder / "clean"))
    faulty, *rest = _run_all(plans, is_quiet=is_quiet)
    calm = rest[0] if rest else []
    there = placed(seed, cases)
    jobs = {}
    for number, result in zip(sorted({p.job for p in there}), faulty, strict=True):
        run = _run_of(folder / "faulty", result)
        results = run.results()
        if results is not None:
            jobs[number] = Finished(
                run_id=result.run_id, results=results, checks=checks_of(run)
            )
    return score_matrix(
        there, jobs, [_run_of(folder / "clean", r).results() for r in calm]
    )


def _only_clean(plan: Plan) -> Plan:
    from dataclasses import replace

    return replace(plan, cases=tuple(c for c in plan.cases if c.part == "clean"))


def _run_all(
    plans: Sequence[tuple[Plan, Path]], *, is_quiet: bool
) -> list[list[CaseResult]]:
    """Run what is missing of each plan, in one warm process; results in their order."""
    from harness.campaign_journal import NOT_MEASURED, Journal
    from harness.runtime.warm import kept_warm

    def is_done(plan: Plan, folder: Path) -> bool:
        done = Journal(folder).finished()
        return all(
            c.case_id in done and done[c.case_id].outcome not in NOT_MEASURED
            for c in plan.cases
        )

    all_done = all(is_done(plan, folder) for plan, folder in plans)
    with contextlib.nullcontext() if all_done else kept_warm():
        return [_run(plan, folder, is_quiet=is_quiet) for plan, folder in plans]


def _run(plan: Plan, folder: Path, *, is_quiet: bool) -> list[CaseResult]:
    """Run what is missing of a plan."""
    from harness.campaign_journal import Journal
    from harness.campaign_run import run_cases
    from harness.commands.campaign import say
    from harness.commands.terminal import output
    from harness.errors import InfrastructureError

    journal = Journal(folder.resolve())
    tell = (lambda progress: None) if is_quiet else functools.partial(say, output())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finished = journal.open(plan.digest, resume=True)
        return run_cases(plan, journal, finished, tell=tell)
    except OSError as error:
        raise InfrastructureError(f"folder {folder}: {error}") from None
    finally:
        journal.close()


def _run_of(folder: Path, result: CaseResult) -> RunDirectory:
    from harness.store import Store

    return Store(folder / "runs").open(result.run_id)


def _folder(out: Path | None, seed: int) -> Path:
    return (out or Path("matrix") / f"seed-{seed}").resolve()


def _unless(value: int, default: int, option: str) -> list[str]:
    return [] if value == default else [f"{option} {value}"]


def _line(command: str, result: MatrixScore | list[Arm]) -> str:
    """The result as one line of JSON, with what made it: for benchmarks/results/."""
    from harness.provenance import provenance
    from vocab.codec import to_json

    made_with = provenance()
    data = to_json(result)
    body = data if isinstance(data, dict) else {"arms": data}
    body.pop("cases", None)  # a line a case stands in the CSV file
    return json.dumps(
        {
            "command": shlex.join(shlex.split(command)),
            "commit": made_with.commit,
            "dirty": made_with.dirty,
            "host": made_with.host,
            "versions": made_with.versions,
            **body,
        },
        allow_nan=False,
    )


def _write(
    folder: Path, name: str, line: str, rows: Sequence[Sequence[object]], picture: bytes
) -> None:
    from harness.store import replace_file, write_atomically

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(folder / f"{name}.json", line + "\n")
    write_atomically(folder / f"{name}.csv", text.getvalue())
    replace_file(folder / f"{name}.svg", picture)


def _case_rows(score: MatrixScore) -> list[list[object]]:
    rows: list[list[object]] = [
        ["case", "surface", "magnitude", "rank", "step", "fate", "why", "run"]
    ]
    for c in score.cases:
        rows.append([c.number, c.surface, c.magnitude, c.rank, c.step, c.fate.value,
                     c.why, c.run_id])  # fmt: skip
    return rows


def _arm_rows(found: Sequence[Arm]) -> list[list[object]]:
    rows: list[list[object]] = [
        ["part", "with", "cases", "number", "right", "missed", "never struck", "wrong",
         "clean", "false on clean", "right low", "right high"]
    ]  # fmt: skip
    for a in found:
        rows.append([a.part, "yes" if a.is_whole else "no", a.cases, a.num_cases,
                     a.num_right, a.num_missed, a.num_unmet, a.num_wrong, a.num_clean,
                     a.num_false, a.right.low, a.right.high])  # fmt: skip
    return rows


def _matrix_picture(score: MatrixScore) -> bytes:
    from harness.plots import matrix_picture

    return matrix_picture(score)


def _print_matrix(score: MatrixScore, console: Console) -> None:
    from harness.commands.campaign import rate_text
    from harness.commands.terminal import table
    from harness.sdc_score import Fate

    for heading, groups in (("magnitude", score.magnitudes),
                            ("surface", score.surfaces)):  # fmt: skip
        rows = table(heading, "named", "missed", "wrong", "not injected", "not run")
        for item in groups:
            counts = [str(item.counts[fate.value]) for fate in Fate][1:]
            rows.add_row(item.name, rate_text(item.named), *counts)
        console.print()
        console.print(rows)
    console.print()
    console.print(f"{'near-invisible (1 ulp)':28} {rate_text(score.near_invisible)}")
    console.print(f"{'clean checks that are silent':28} {rate_text(score.silent)}")
    console.print(f"{'clean jobs without blame':28} {rate_text(score.clean)}")
    for case in score.cases:
        if case.why:
            console.print(
                f"{case.fate.value:12} case {case.number} ({case.surface}, "
                f"{case.magnitude}, {case.rank}, step {case.step} of {case.run_id}): "
                f"{case.why}", style="bold red", soft_wrap=True,
            )  # fmt: skip
    for text in score.between:
        console.print(f"wrong        {text}", style="bold red", soft_wrap=True)


def _print_arms(found: Sequence[Arm], console: Console) -> None:
    from harness.commands.campaign import rate_text
    from harness.commands.terminal import table
    from harness.views import wording

    rows = table("", "cases", "right", "missed", "never struck", "others blamed",
                 "blamed where clean")  # fmt: skip
    for arm in found:
        name = arm.part if arm.is_whole else f"  without {arm.part}"
        counts = (arm.num_missed, arm.num_unmet, arm.num_wrong)
        rows.add_row(name, arm.cases, rate_text(arm.right), *map(str, counts),
                     wording.k_of_n(arm.num_false, arm.num_clean)
                     if arm.num_clean else "none")  # fmt: skip
    console.print()
    console.print(rows)
    console.print()
