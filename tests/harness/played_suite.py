"""A small suite whose runs are played: real run directories, no training job.

report = qualified(tmp_path)      # 8 cases of SDC and 3 controls, all run
PlayedRuns()                      # makes the run of any case, at once
"""

from __future__ import annotations

from pathlib import Path

from harness.analyze import recompute
from harness.campaign import Case
from harness.checks import score
from harness.qualification import Qualification
from harness.qualify_run import Order, qualify
from harness.store import Ended, RunDirectory, new_run_id
from tests.run_builder import RunBuilder, sdc_healed, sdc_injected

SUITE = """
title: A played suite
description: Made for a test.
parts:
  - name: sdc
    scenarios: [flip.yaml]
    seeds: {first: 1, count: 4}
    parameters: {faults.0.stuck_bit: [3, 30]}
controls:
  - name: clean
    scenarios: [clean.yaml]
    seeds: {first: 1, count: 3}
criteria:
  recall: {at_least: 0.5}
  exact: {at_least: 0.5, by: estimate}
  false_blames_per_hour: {at_most: 0, by: estimate}
  localization_s: {at_most: 10, by: estimate}
"""
FLIP = """
title: A flip
steps: 12
workload: {parallel: {replicate: 4}}
scout: {replay_every: 2}
faults: [{kind: sdc.parameter, rank: 2, at_step: 5, until_step: 8, stuck_bit: 21}]
expect: [{kind: sdc, ranks: [2], from_step: 5, by_step: 8}]
"""
CLEAN = """
title: Clean
steps: 12
workload: {parallel: {replicate: 4}}
scout: {replay_every: 2}
"""


def write_suite(folder: Path, text: str = SUITE) -> Path:
    """The suite's files; returns that of the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flip.yaml").write_text(FLIP)
    (folder / "clean.yaml").write_text(CLEAN)
    path = folder / "played.yaml"
    path.write_text(text)
    return path


def play(run: RunBuilder, *, blames: int | None) -> None:
    """One run: steps, checks, and what the deciders say of rank `blames`, if any."""
    run.start()
    has_fault = bool(run.scenario.faults)
    for step in range(1, run.scenario.steps + 1):
        run.step(step)
        if has_fault and step == 5:
            run.write("faults.rank2", sdc_injected())
        is_bad = blames is not None and 5 <= step <= 8
        if step % 2 == 0:
            run.check(step, corrupt=blames if is_bad else None)
        if step == 6 and is_bad:
            # Later seeds take longer, so that latencies differ.
            run.now_s += 0.05 * (run.scenario.seed % 7)
            for verdict in recompute(run.run):
                run.verdict(verdict)
        if has_fault and step == 9:
            run.write("faults.rank2", sdc_healed())


class PlayedRuns:
    """The runs of a suite without any process.

    Args:
        blames: case id -> the rank that is blamed, or None; others find the culprit.
    """

    def __init__(self, blames: dict[str, int | None] | None = None) -> None:
        self._blames = blames or {}
        self.started: list[str] = []

    def start(self, case: Case, root: Path) -> RunDirectory:
        """Play the whole run."""
        self.started.append(case.case_id)
        builder = RunBuilder(root, case.scenario, new_run_id(case.scenario_name))
        culprit = 2 if case.scenario.faults else None
        blames = self._blames.get(case.case_id, culprit)
        play(builder, blames=blames)
        run = builder.run
        ended = Ended(reason="finished", detail="", wall_s=builder.now_s,
                      first_step_s=2.1)  # fmt: skip
        builder.close()
        run.write_ended(ended)
        run.write_results(score(case.scenario, run.reader().read().events, ended))
        return run

    def wait(self, run: RunDirectory) -> None:
        """It is over already."""

    def is_live(self, run: RunDirectory) -> bool:
        """Never."""
        return False


def qualified(
    folder: Path, runs: PlayedRuns | None = None, text: str = SUITE, *,
    resume: bool = False,
) -> Qualification:  # fmt: skip
    """The suite, written and run into `folder / "out"`."""
    order = Order(
        suite=write_suite(folder, text),
        folder=folder / "out",
        command="faultyard qualify played",
        resume=resume,
    )
    return qualify(order, tell=lambda report, progress: None,
                   runs=runs or PlayedRuns())  # fmt: skip
