"""The `faultyard` command: puts the commands together and turns errors into exit codes.

    0-3  what a run found (harness.results.EXIT_CODES)     64  the command is wrong
    130  interrupted

Each error is one clear line on standard error; only what nobody foresaw leaves a
traceback, in a file. Imports no torch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence

import typer

from harness.commands.analyze import make_analyze
from harness.commands.bench import bench, schema
from harness.commands.calibrate import calibrate
from harness.commands.campaign import campaign
from harness.commands.demo import demo
from harness.commands.doctor import doctor
from harness.commands.experiment import experiment
from harness.commands.images import app as images
from harness.commands.kills import kills
from harness.commands.listing import list_all
from harness.commands.matrix import app as matrix
from harness.commands.qualify import qualify
from harness.commands.report import report
from harness.commands.run import run
from harness.commands.serve import serve
from harness.commands.show import show
from harness.commands.terminal import complain
from harness.commands.upkeep import cancel, clean, reindex
from harness.commands.verify import verify
from harness.errors import (
    InfrastructureError,
    ScenarioError,
    UnknownRun,
    UsageError,
)
from harness.results import EXIT_CODES, EXIT_USAGE, Outcome

EXIT_INTERRUPTED = 130
# What typer raises for a wrong option or argument: the base of its own BadParameter.
_TyperUsage: type[Exception] = typer.BadParameter.__mro__[1]


def make_app() -> typer.Typer:
    """The command line, in the order in which it is used."""
    app = typer.Typer(
        name="faultyard",
        help="Inject a known fault into a real training job and see who is blamed.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.command("demo")(demo)
    app.command("list")(list_all)
    app.command("show")(show)
    app.command("run")(run)
    app.command("campaign")(campaign)
    app.command("qualify")(qualify)
    app.command("kills")(kills)
    app.command("serve")(serve)
    app.command("report")(report)
    app.add_typer(make_analyze(), name="analyze")
    app.add_typer(matrix, name="matrix")
    app.add_typer(images, name="images")
    app.command("verify")(verify)
    app.command("cancel")(cancel)
    app.command("doctor")(doctor)
    app.command("clean")(clean)
    app.command("reindex")(reindex)
    app.command("calibrate")(calibrate)
    app.command("experiment")(experiment)
    app.command("bench")(bench)
    app.command("schema")(schema)
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        code = make_app()(args=argv, standalone_mode=False, prog_name="faultyard")
    except _TyperUsage as error:
        if _message(error):  # empty where help was all that was asked for
            complain(f"{_message(error)}; see `faultyard --help`")
        return EXIT_USAGE
    except (ScenarioError, UnknownRun, UsageError) as error:
        for line in str(error).splitlines():
            complain(line)
        return EXIT_USAGE
    except InfrastructureError as error:
        complain(str(error))
        return EXIT_CODES[Outcome.INFRASTRUCTURE]
    except KeyboardInterrupt:
        complain("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        complain(f"internal error: {error!r}; the traceback is in {_keep_traceback()}")
        return EXIT_CODES[Outcome.INFRASTRUCTURE]
    return code if isinstance(code, int) else 0


def _message(error: Exception) -> str:
    told = getattr(error, "format_message", None)
    return str(told() if callable(told) else error).rstrip(".")


def _keep_traceback() -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix="faultyard-", suffix=".log", delete=False
    ) as file:
        file.write(traceback.format_exc())
    return file.name


if __name__ == "__main__":
    sys.exit(main())
