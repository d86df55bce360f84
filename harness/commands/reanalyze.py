"""`faultyard analyze RUN`: other settings, the same stored evidence (DESIGN sec. 2.2).

Writes nothing into the run: its verdicts stay those of the settings it ran with.
A silence below the run's own finds nothing earlier: observers stored no comparison.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunId, RunsDir

if TYPE_CHECKING:
    from scout.config import ScoutConfig
    from vocab.verdict import Verdict

    Sides = dict[str, tuple[ScoutConfig, tuple[Verdict, ...]]]


def reanalyze(
    run_id: RunId,
    kappa: Annotated[
        float | None, typer.Option(help="Robust scales from the median, above 0.")
    ] = None,
    confirmations: Annotated[
        int | None, typer.Option(help="Boundaries that must agree, 1 or more.")
    ] = None,
    silence: Annotated[
        float | None,
        typer.Option(help="Seconds of silence that are normal, in every phase."),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: AsJson = False,
) -> int:
    """Decide a run again with other settings, beside its original verdicts.

    Exit code: 0 decided; 2 evidence is missing; 64 no such run or a wrong setting.
    """
    from harness.analyze import recompute, stored
    from harness.commands.choose import run_of
    from harness.commands.terminal import complain
    from harness.errors import UsageError
    from harness.verify import missing_evidence

    run = run_of(run_id, runs_dir)
    missing = missing_evidence(run)
    for item in missing:
        complain(f"missing: {item}")
    if missing:
        return 2
    original = run.scenario().scout
    if original == "off":
        raise UsageError(f"{run.run_id} ran with scout: off; it has no evidence")
    try:
        config = _changed(original, kappa, confirmations, silence)
    except ValueError as error:
        raise UsageError(str(error)) from None
    sides = {
        "original": (original, stored(run)),
        "again": (config, recompute(run, config)),
    }
    if as_json:
        _print_json(run.run_id, sides)
    else:
        _print_table(sides)
    return 0


def _print_json(run_id: str, sides: Sides) -> None:
    from harness.commands.terminal import plain
    from vocab.codec import to_json

    data = {
        name: {"settings": to_json(settings), "verdicts": to_json(verdicts)}
        for name, (settings, verdicts) in sides.items()
    }
    plain(json.dumps({"format": 1, "run_id": run_id, **data}, indent=1))


def _print_table(sides: Sides) -> None:
    from harness.commands.terminal import output, table

    shown = table("", "kappa", "confirmations", "silence s", "verdicts")
    for name, (settings, verdicts) in sides.items():
        shown.add_row(
            name,
            f"{settings.kappa:g}",
            str(settings.confirmations),
            f"{settings.silence_s:g}",
            "\n".join(map(_line, verdicts)) or "nobody",
        )
    output().print(shown)


def _changed(
    original: ScoutConfig,
    kappa: float | None,
    confirmations: int | None,
    silence: float | None,
) -> ScoutConfig:
    config = original
    if kappa is not None:
        config = replace(config, kappa=kappa)
    if confirmations is not None:
        config = replace(config, confirmations=confirmations)
    if silence is not None:  # named phases would keep their own thresholds
        config = replace(config, silence_s=silence, silence_by_phase_s={})
    return config


def _line(verdict: Verdict) -> str:
    step = "" if verdict.step is None else f", step {verdict.step}"
    who = " ".join(verdict.blamed) or verdict.state.value
    return f"{verdict.kind.value}: {who} ({verdict.reason_code}{step})"
