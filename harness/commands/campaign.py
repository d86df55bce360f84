"""`faultyard campaign`: many runs of scenarios, with progress, resume and score."""

from __future__ import annotations

import functools
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from harness.campaign import Plan
    from harness.campaign_run import Progress
    from harness.campaign_summary import Summary
    from vocab.intervals import Rate


def campaign(
    file: Annotated[
        str, typer.Argument(help="Name (see scenarios/suites) or YAML file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the campaign.  [default: campaigns/NAME]"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run only what is missing in the folder.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cases; run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run every case of a campaign and score who was found.

    Exit code: 0 every case passed; 1 one failed; 2 one is inconclusive, not injected or
    cancelled; 3 infrastructure error; 64 the command or a file is wrong.
    """
    from harness.campaign import plan
    from harness.campaign_journal import Journal
    from harness.campaign_run import default_folder, run_cases
    from harness.campaign_summary import summarize
    from harness.commands.terminal import output, plain
    from harness.errors import InfrastructureError
    from harness.runtime.warm import kept_warm
    from harness.store import write_atomically

    path = suite_file(file)
    planned = plan(path)
    if dry_run:
        return list_cases(planned)
    folder = (out or default_folder(path)).resolve()
    console = output()
    journal = Journal(folder)
    try:
        finished = journal.open(planned.digest, resume=resume)
        tell = _quiet if as_json else functools.partial(say, console)
        with kept_warm():
            results = run_cases(planned, journal, finished, tell=tell)
        summary = summarize(results, num_planned=len(planned.cases))
        line = result_line(planned, summary, _command(file, path))
        write_atomically(folder / "summary.json", line + "\n")
    except OSError as error:
        raise InfrastructureError(f"campaign folder {folder}: {error}") from None
    finally:
        journal.close()
    if as_json:
        plain(line)
    else:
        _print(summary, console)
        console.print(f"{'Result line':32} {folder / 'summary.json'}", soft_wrap=True)
    return summary.exit_code


def result_line(plan: Plan, summary: Summary, command: str) -> str:
    """The result as one line of JSON, with what made it: for benchmarks/results/."""
    from harness.provenance import provenance
    from vocab.codec import to_json

    made_with = provenance()
    return json.dumps(
        {
            "command": command,
            "title": plan.campaign.title,
            "plan": plan.digest,
            "commit": made_with.commit,
            "dirty": made_with.dirty,
            "host": made_with.host,
            "versions": made_with.versions,
            **to_json(summary),
            "exit_code": summary.exit_code,
        },
        allow_nan=False,
    )


def suite_file(word: str) -> Path:
    """The file of a suite that ships, or that was named.

    Raises:
        UsageError: neither.
    """
    from harness.campaign import suites

    known = suites()
    if word in known:
        return known[word]
    if Path(word).suffix in (".yaml", ".yml") or Path(word).is_file():
        return Path(word)
    from harness.errors import UsageError

    raise UsageError(f"campaign is {word!r}; allowed: a file, or {', '.join(known)}")


def _command(word: str, path: Path) -> str:
    name = word if word == path.stem else str(path.resolve())
    return shlex.join(["faultyard", "campaign", name])


def list_cases(plan: Plan) -> int:
    """Print the cases instead of running them."""
    from harness.commands.terminal import plain

    for case in plan.cases:
        plain(f"{case.case_id}  {case.kinds}")
    plain(f"{len(plan.cases)} cases, plan {plan.digest}")
    return 0


def _quiet(progress: Progress) -> None:
    pass


def say(console: Console, progress: Progress) -> None:
    """A line when a case is over, one when a case begins."""
    from harness.commands.terminal import OUTCOME_STYLES
    from harness.results import Outcome
    from harness.views import wording

    last = progress.last
    if last is not None:
        reason = "" if last.outcome is Outcome.PASS else f": {last.reason}"
        console.print(f"  {last.outcome.value}{reason}", soft_wrap=True,
                      style=OUTCOME_STYLES.get(last.outcome.value, ""))  # fmt: skip
    if progress.case is None:
        return
    eta = "" if progress.eta_s is None else (
        f", about {wording.seconds(float(round(progress.eta_s)))} left"
    )  # fmt: skip
    number = wording.k_of_n(progress.num_done + 1, progress.num_cases)
    console.print(f"[{number}{eta}] {progress.case.case_id}", soft_wrap=True)


def _print(summary: Summary, console: Console) -> None:
    from harness.commands.terminal import table
    from harness.views import wording

    rows = table("fault", "cases", "not scored", "found", "exact", "false blames",
                 "latency p50", "p90", "max")  # fmt: skip
    for score in summary.scores:
        rows.add_row(
            score.kind, str(score.num_cases), str(score.num_not_scored),
            rate_text(score.recall), rate_text(score.exact),
            rate_text(score.false_blames),
            wording.seconds(score.latency.p50_s), wording.seconds(score.latency.p90_s),
            wording.seconds(score.latency.max_s),
        )  # fmt: skip
    console.print()
    console.print(rows)
    for text in summary.not_passed:
        console.print(f"not passed  {text}", style="bold red", soft_wrap=True)
    console.print()


def rate_text(rate: Rate) -> str:
    """Such as `9 of 10 (60 to 98 %)`: the interval is Wilson's, 95 %."""
    if rate.low is None or rate.high is None:
        return "none"
    return f"{rate.k} of {rate.n} ({100 * rate.low:.1f} to {100 * rate.high:.1f} %)"
