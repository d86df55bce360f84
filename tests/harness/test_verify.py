"""An altered verdict is named; from half the evidence nothing is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.analyze import recompute, stored
from harness.cli import main
from harness.store import RunDirectory
from harness.verify import Difference, verify
from tests.run_builder import clean_run, sdc_run
from vocab.codec import to_json


def as_decided(root: Path) -> RunDirectory:
    """An SDC run whose stored verdict is the deciders' own."""
    run = sdc_run(root)
    [verdict] = recompute(run)
    edit_verdict(run, to_json(verdict))
    return run


def edit_verdict(run: RunDirectory, fields: dict[str, Any]) -> None:
    path = run.events / "rank0.jsonl"
    lines = []
    for line in path.read_text().splitlines():
        data = json.loads(line)
        if "verdict" in data:
            data["verdict"].update(fields)
        lines.append(json.dumps(data))
    path.write_text("\n".join(lines) + "\n")


def command(run: RunDirectory, *options: str) -> int:
    return main(["verify", run.run_id, "--runs-dir", str(run.path.parent), *options])


def test_verdicts_of_the_deciders_are_identical(tmp_path: Path) -> None:
    run = as_decided(tmp_path)
    assert len(stored(run)) == 1
    assert verify(run).is_identical
    assert command(run) == 0


def test_a_run_without_verdicts_whose_evidence_gives_none_is_identical(
    tmp_path: Path,
) -> None:
    assert command(clean_run(tmp_path)) == 0


def test_an_altered_field_is_named_with_both_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = as_decided(tmp_path)
    edit_verdict(run, {"blamed": ["rank1"]})
    assert verify(run).difference == Difference(
        field="verdicts[0].blamed[0]", stored="rank1", recomputed="rank2"
    )
    assert command(run, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["difference"]["recomputed"] == "rank2"
    assert not told["identical"]


def test_a_lost_rank_file_is_missing_and_nothing_is_compared(tmp_path: Path) -> None:
    run = as_decided(tmp_path)
    (run.events / "rank3.jsonl").unlink()
    found = verify(run)
    assert found.missing == ("rank3.jsonl: no such file",)
    assert (found.num_stored, found.is_identical) == (None, False)
    assert command(run) == 2


def test_a_lost_event_is_missing(tmp_path: Path) -> None:
    run = as_decided(tmp_path)
    path = run.events / "rank1.jsonl"
    first, second, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first, *rest]) + "\n")
    assert json.loads(second)["seq"] == 1
    assert command(run) == 2


def test_an_unknown_run_is_a_wrong_command(tmp_path: Path) -> None:
    run = clean_run(tmp_path)
    assert main(["verify", "20200101-000000-no-0000", "--runs-dir",
                 str(run.path.parent)]) == 64  # fmt: skip
