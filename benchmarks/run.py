"""How long the main job takes, from the command to its results (issue 2).

Run by `registry`. The baseline is the same scenario with `scout: off`, in turns with it
so that both see one machine; the two absolute goals are for an idle one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.claim import Claim, compared
from harness.store import Store
from vocab.events import StepEnded

SCENARIO = "sdc-parameter"
WALL_GOAL_S = 15.0
FIRST_STEP_GOAL_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    wall_s: float
    first_step_s: float  # from the command to the last rank's first step


def claims(rounds: int = 3) -> Iterator[Claim]:
    """Wall time and first step of a 4-rank scenario, with SCOUT and without."""
    watched, plain = [], []
    for _ in range(rounds):
        watched.append(_run())
        plain.append(_run("--set", "scout=off"))
    wall = statistics.median(item.wall_s for item in watched)
    first = statistics.median(item.first_step_s for item in watched)
    yield compared(
        name=f"run: {SCENARIO} from the command to its results, against scout: off",
        value=wall,
        unit="s",
        baseline=statistics.median(item.wall_s for item in plain),
        note=f"median of {rounds} in turns; a check after every second 20 ms step",
    )
    yield compared(
        name=f"run: {SCENARIO} from the command to its results",
        value=wall,
        unit="s",
        baseline=WALL_GOAL_S,
        note="baseline: the goal for an idle machine",
        at_most=1,
    )
    yield compared(
        name=f"run: {SCENARIO} from the command to every rank's first step",
        value=first,
        unit="s",
        baseline=FIRST_STEP_GOAL_S,
        note="baseline: the goal for an idle machine",
        at_most=1,
    )


def _run(*options: str) -> _Timed:
    with tempfile.TemporaryDirectory(prefix="faultyard-bench-") as folder:
        began_wall_ns, began = time.time_ns(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "harness", "run", SCENARIO, "--json",
             "--runs-dir", folder, *options],
            check=False, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wall_s = time.perf_counter() - began
        (run,) = Store(Path(folder)).runs()
        reader = run.reader()
        steps = [
            reader.wall_ns(stamped)
            for stamped in reader.read(sources="rank*").events
            if isinstance(stamped.event, StepEnded) and stamped.event.step == 1
        ]
        return _Timed(wall_s=wall_s, first_step_s=(max(steps) - began_wall_ns) / 1e9)
