"""Every scenario file is a test, has a clean twin, and is judged without the truth."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.analyze import recompute, stored, without_time
from harness.launch import follow, launch
from harness.results import Outcome
from harness.runtime.warm import kept_warm
from harness.scenario import Scenario, catalogue, load, to_yaml
from harness.store import RunDirectory, write_atomically
from injectors.cpu_cgroup import controller
from injectors.errors import CannotInject
from vocab.verdict import Verdict

pytestmark = pytest.mark.jobs

NAMES = sorted(catalogue())


def marked(name: str) -> Any:
    """The name as a parameter; scenarios in containers need a Docker daemon."""
    is_docker = load(catalogue()[name]).runtime == "docker"
    return pytest.param(name, marks=[pytest.mark.docker] if is_docker else [])


def without_faults(scenario: Scenario) -> Scenario:
    update = {"faults": (), "expect": (), "symptom": None}
    return scenario.model_copy(update=update)


def clean_twins() -> dict[str, Scenario]:
    """One twin per job and settings: scenarios that differ only in fault, seed, words
    and length share the longest one."""
    twins: dict[str, tuple[str, Scenario]] = {}
    for name in NAMES:
        scenario = load(catalogue()[name])
        if not scenario.faults:
            continue
        twin = without_faults(scenario)
        same = {"title": "", "description": "", "seed": 0, "steps": 1, "timeout_s": 1.0}
        key = twin.model_copy(update=same).model_dump_json()
        known = twins.get(key)
        if known is None or known[1].steps < twin.steps:
            twins[key] = (name, twin)
    return dict(twins.values())


TWINS = clean_twins()


@pytest.fixture(scope="module")
def runs_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module", autouse=True)
def warm() -> Iterator[None]:
    """One process imports torch for all of them, as in a campaign."""
    with kept_warm():
        yield


def run_to_end(scenario: Scenario, runs_root: Path, name: str) -> RunDirectory:
    run = launch(scenario, runs_root=runs_root, name=name)
    for _ in follow(run):
        pass
    return run


def verdicts_without_truth(run: RunDirectory, folder: Path) -> list[Verdict]:
    """What re-analysis finds once every fault event and setting is deleted."""
    blind = RunDirectory(path=folder / run.run_id)
    shutil.copytree(run.path, blind.path)
    truth = list(blind.events.glob("faults.*.jsonl"))
    assert truth, "a run always has files of ground truth"
    for path in truth:
        path.unlink()
    (blind.path / "results.json").unlink()
    scenario = without_faults(run.scenario())
    write_atomically(blind.path / "scenario.yaml", to_yaml(scenario))
    return [without_time(verdict) for verdict in recompute(blind)]


def skip_without_means(scenario: Scenario) -> None:
    """Skip, by name, what this machine or user cannot inject."""
    if any(fault.kind == "straggler.cpu_quota" for fault in scenario.faults):
        try:
            folder = controller().folder
        except CannotInject as error:
            pytest.skip(str(error))
        if not os.access(folder, os.W_OK):
            pytest.skip(f"a CPU quota needs the right to write {folder} (root)")


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_finding_equals_expectation_and_does_not_rest_on_the_truth(
    name: str, runs_root: Path, tmp_path: Path
) -> None:
    scenario = load(catalogue()[name])
    skip_without_means(scenario)
    run = run_to_end(scenario, runs_root, name)
    results = run.results()
    assert results is not None, (run.logs / "harness.log").read_text()
    assert (results.outcome, results.extras) == (Outcome.PASS, ()), results.reason
    found = [without_time(verdict) for verdict in stored(run)]
    assert verdicts_without_truth(run, tmp_path) == found
    assert len(found) == sum(item.found for item in results.incidents)
    for fault in results.faults:
        assert fault.injected
        assert fault.healed


@pytest.mark.parametrize("name", [marked(name) for name in sorted(TWINS)])
def test_the_clean_twin_blames_nobody(name: str, runs_root: Path) -> None:
    run = run_to_end(TWINS[name], runs_root, f"{name}-twin")
    results = run.results()
    assert results is not None, (run.logs / "harness.log").read_text()
    assert results.outcome is Outcome.PASS, results.reason
    assert stored(run) == ()
