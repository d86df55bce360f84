"""Every fabric scenario and its clean twin over many seeds of the fabric (issue 7).

Run by `registry`. One training run is made; its traffic, cut to a scenario's steps, is
played again for each seed. What ranks do is not replayed: a scenario that expects a
rank must blame no link.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.claim import Claim, compared

if TYPE_CHECKING:
    from harness.fabric.replay import Record
    from harness.scenario import Scenario

RECORDED = "link-gray-down"  # the longest of them
SEEDS = range(1, 21)


def claims(seeds: Sequence[int] = SEEDS) -> Iterator[Claim]:
    """How many seeds find exactly what is expected; wrong blames end the goal."""
    from harness.scenario import catalogue, load

    record = _record()
    for name, path in sorted(catalogue().items()):
        scenario = load(path)
        if scenario.fabric == "none":
            continue
        yield _claim(name, scenario, record, seeds)
        twin = scenario.model_copy(update={"faults": (), "expect": ()})
        yield _claim(f"{name}, clean twin", twin, record, seeds)


def _claim(
    name: str, scenario: Scenario, record: Record, seeds: Sequence[int]
) -> Claim:
    from dataclasses import replace

    from harness.fabric.replay import replay

    cut = replace(record, job_bytes=record.job_bytes[: scenario.steps])
    results = list(replay(scenario, cut, seeds))
    targets = {name for _, fault in scenario.fabric_faults() for name in fault.targets}
    blamed = {name for item in results for it in item.verdicts for name in it.blamed}
    wrong = sorted(blamed - targets)
    missed = [item.seed for item in results if not item.is_right]
    note = f"{len(cut.job_bytes)} steps; wrong blames: {', '.join(wrong) or 'none'}"
    if missed:
        note += f"; not right with seeds {', '.join(map(str, missed))}"
    return compared(
        name=f"{name}: seeds of the fabric that find exactly what is expected",
        value=len(results) - len(missed),
        unit="seeds",
        baseline=len(results),
        note=note,
        at_least=1,
    )


def _record() -> Record:
    """The traffic of a real job, trained now."""
    from harness.fabric.replay import record_of
    from harness.store import Store

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "harness", "run", RECORDED,
                   "--runs-dir", folder]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (run,) = Store(Path(folder)).runs()
        return record_of(run.reader().read(sources="fabric").events)
