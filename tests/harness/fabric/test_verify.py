"""Link verdicts are recomputed from stored counters, or what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.analyze import recompute, stored
from harness.store import RunDirectory
from harness.verify import verify
from tests.harness.fabric.played_run import GRAY, UP, played


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run in which leaf0-spine1:up was blamed; its ranks wrote a line each."""
    with played(tmp_path, GRAY, steps=10) as (made, fabric):
        fabric.end("the job has left")
    for rank in range(4):
        (made.events / f"rank{rank}.jsonl").touch()
    return made


def test_a_link_verdict_is_recomputed_from_the_counters(run: RunDirectory) -> None:
    found = verify(run)
    assert found.is_identical, (found.missing, found.difference)
    assert found.num_stored == 1
    assert [verdict.blamed for verdict in recompute(run)] == [(UP,)]


def test_altered_counters_give_another_verdict_and_it_is_named(
    run: RunDirectory,
) -> None:
    for leaf in (1, 2):
        path = run.events / f"leaf{leaf}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line.get("type") == "FlowCounted" and line["is_over"]:
                total = sum(line["counts"])
                line["counts"] = [total // 4] * 4
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(stored(run)) == 1
    assert not verify(run).is_identical


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("leaf1", "leaf1.jsonl: no such file"),
        ("fabric", "fabric.jsonl: no Fabric"),
    ],
)
def test_a_missing_file_of_the_fabric_is_named(
    name: str, said: str, run: RunDirectory
) -> None:
    (run.events / f"{name}.jsonl").unlink()
    found = verify(run)
    assert found.num_recomputed is None
    assert any(line.startswith(said) for line in found.missing), found.missing
