"""`faultyard analyze fabric RUN`: one training record, many seeds of the fabric."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunId, RunsDir

if TYPE_CHECKING:
    from harness.fabric.replay import SeedResult


def fabric_seeds(
    run_id: RunId,
    seeds: Annotated[
        int, typer.Option(help="How many seeds of the fabric.", min=1, max=10_000)
    ] = 20,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 1,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
) -> int:
    """Play a run's collectives again with other seeds, without training.

    Exit code: 0 every seed finds exactly what is expected; 1 one does not; 64 the run
    has no fabric.
    """
    from harness.commands.choose import run_of
    from harness.commands.terminal import plain
    from harness.fabric.replay import record_of, replay

    run = run_of(run_id, runs_dir)
    scenario = run.scenario()
    record = record_of(run.reader().read(sources="fabric").events)
    results = []
    for result in replay(scenario, record, range(first, first + seeds)):
        results.append(result)
        plain(_json(result) if as_json else _line(result))
    wrong = [item for item in results if not item.is_right]
    if not as_json:
        blamed = sum(bool(extra.blamed) for item in results for extra in item.extras)
        plain(
            f"{len(results) - len(wrong)} of {len(results)} seeds right, "
            f"{blamed} wrong blames, {len(record.job_bytes)} steps each"
        )
    return 1 if wrong else 0


def _line(result: SeedResult) -> str:
    mark = "right" if result.is_right else "WRONG"
    told = "; ".join(
        f"{verdict.state.value} "
        f"{', '.join(verdict.blamed or verdict.suspects) or verdict.reason_code} "
        f"at step {verdict.step}"
        for verdict in result.verdicts
    )
    struck = ""
    if result.num_injected < result.num_faults:
        struck = f"; {result.num_injected} of {result.num_faults} faults struck"
    return f"seed {result.seed:<6} {mark}  {told or 'nobody blamed'}{struck}"


def _json(result: SeedResult) -> str:
    from vocab.codec import to_json

    return json.dumps({**to_json(result), "is_right": result.is_right})
