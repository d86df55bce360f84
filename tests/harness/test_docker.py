"""Runs in containers: the same verdicts, and named errors where the engine breaks."""

from __future__ import annotations

import gc
import os
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import images
from harness.analyze import stored
from harness.errors import InfrastructureError, ScenarioError
from harness.launch import follow, launch
from harness.processes import marked
from harness.results import Outcome
from harness.runtime.base import RuntimeLost
from harness.runtime.container_hosts import RUN_LABEL, Recipe, left_runs
from harness.runtime.docker import DockerRuntime
from harness.scenario import Hosts, Scenario, catalogue, from_data, load
from harness.store import RunDirectory

DATA: dict[str, Any] = {
    "title": "x", "steps": 9, "workload": {"parallel": {"replicate": 4}},
}  # fmt: skip


def run_to_end(scenario: Scenario, root: Path) -> RunDirectory:
    run = launch(scenario, runs_root=root, name="docker")
    for _ in follow(run):
        pass
    return run


def left_of(run: RunDirectory) -> list[str]:
    """Names of containers and networks of a run that are there."""
    wanted = {"label": f"{RUN_LABEL}={run.run_id}"}
    with closing(images.client()) as made:
        found = [item.name for item in made.containers.list(all=True, filters=wanted)]
        return found + [item.name for item in made.networks.list(filters=wanted)]


@pytest.mark.docker
@pytest.mark.jobs
@pytest.mark.parametrize("name", ["clean", "sdc-parameter", "straggler-forward"])
def test_a_scenario_gives_the_same_verdicts_in_containers(
    name: str, tmp_path: Path
) -> None:
    words: dict[str, list[tuple[object, ...]]] = {}
    for runtime in ("process", "docker"):
        scenario = load(catalogue()[name], settings=[f"runtime={runtime}"])
        run = run_to_end(scenario, tmp_path / runtime)
        results = run.results()
        assert results is not None
        assert results.outcome is Outcome.PASS, results.reason
        words[runtime] = [
            (v.kind, v.state, v.blamed, v.votes, v.reason_code, v.surface)
            for v in stored(run)
        ]
        assert (run.logs / "rank3.log").exists()
    assert words["docker"] == words["process"]
    assert left_of(run) == []


@pytest.mark.docker
@pytest.mark.jobs
def test_a_killed_container_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    scenario = load(
        catalogue()["clean"],
        settings=["runtime=docker", "steps=200", "workload.step_pause_s=0.1"],
    )
    run = launch(scenario, runs_root=tmp_path, name="docker")
    deadline = time.monotonic() + 60
    while not (run.events / "rank3.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    with closing(images.client()) as made:
        made.containers.get(f"faultyard-{run.run_id}-host1").kill()
    for _ in follow(run):
        pass
    results = run.results()
    assert results is not None
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert "container of host1: exited with 137" in results.reason
    assert left_of(run) == []
    assert marked(run.run_id) == []
    with closing(images.client()) as made:
        assert run.run_id not in left_runs(made, tmp_path)


def test_a_daemon_that_does_not_answer_ends_the_run(tmp_path: Path) -> None:
    def ping() -> None:
        raise ConnectionRefusedError("gone")

    recipe = Recipe(run_path=tmp_path, run_id="x", workload="w", attempt=1,
                    num_ranks=2, settings=Hosts())  # fmt: skip
    runtime = DockerRuntime(SimpleNamespace(ping=ping, close=lambda: None), recipe, [])
    runtime._next_ping_s = 0.0
    [lost] = runtime.poll(0.0)
    assert isinstance(lost, RuntimeLost)
    assert lost.reason == "the Docker daemon does not answer: gone"
    assert runtime.poll(0.0) == ()


def test_a_missing_daemon_or_context_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(
        InfrastructureError,
        match=r"the Docker daemon cannot be reached: No such file or directory "
        r"\(unix:///nowhere/docker.sock\)",
    ):
        images.client()
    with pytest.raises(InfrastructureError, match="no Docker context 'far'"):
        images.client("far")
    gc.collect()


def test_the_daemon_of_another_machine_is_refused_by_name() -> None:
    here = os.uname()
    info = {"Name": here.nodename, "KernelVersion": here.release}
    images.check_is_here(info, "the Docker daemon")
    with pytest.raises(
        InfrastructureError,
        match=r"Docker context 'far' is of another machine, 'gpu7' .*; allowed: a "
        "daemon of this one",
    ):
        images.check_is_here({**info, "Name": "gpu7"}, "Docker context 'far'")
    with pytest.raises(InfrastructureError, match="is of another machine"):
        images.check_is_here({**info, "KernelVersion": "1.0-vm"}, "the Docker daemon")


def test_the_image_is_named_after_its_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = images.tag()
    assert before == images.tag()
    for name in ("Dockerfile", "requirements.txt"):
        (tmp_path / name).write_bytes((images.TRAINER / name).read_bytes())
    monkeypatch.setattr(images, "TRAINER", tmp_path)
    assert images.tag() == before
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    assert images.tag() != before


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"faults": [{"kind": "hang.pause", "rank": 1, "at_step": 3}]},
         "faults.0.kind: strikes a whole host; got 'hang.pause'; allowed: only with "
         "runtime: docker"),
        ({"runtime": "docker", "fabric": {"kind": "simulated"}},
         "runtime: has no simulated fabric"),
        ({"runtime": "docker", "hosts": {"memory_mib": 1}}, "hosts.memory_mib: "),
        ({"runtime": "podman"}, "runtime: "),
        ({"runtime": "docker", "faults": [
            {"kind": "straggler.cpu_quota", "rank": 3, "at_step": 3}],
          "expect": [{"kind": "straggler", "ranks": [3], "from_step": 3,
                      "by_step": 9}]},
         "expect.0.ranks: not all ranks of the limited host; got [3]; allowed: "
         "[2, 3], or hosts.ranks_per_host: 1"),
    ],
)  # fmt: skip
def test_what_containers_cannot_do_is_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_data({**DATA, **more})
    assert told in str(caught.value)


@pytest.mark.docker
def test_images_build_again_only_when_needed() -> None:
    told: list[str] = []
    with closing(images.client()) as made:
        images.build(made, offline=True, tell=told.append)
    assert told[0] == f"{images.tag()} is up to date"


def test_the_dockerfile_is_without_a_registry_of_ours() -> None:
    text = (images.TRAINER / "Dockerfile").read_text()
    assert "USER 10001:10001" in text
    assert "http" not in text
