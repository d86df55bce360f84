"""A detector of the user's: what it gets, what it may say, how it is scored."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.plugin import PluginFailed, evidence_lines, run_detector
from harness.results import Outcome
from harness.store import RunDirectory
from tests import run_builder as rb

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "relative_score.py"
SAYS = "import sys; sys.stdin.read(); print({!r})"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return rb.sdc_run(tmp_path)


def detector(line: str) -> list[str]:
    return [sys.executable, "-c", SAYS.format(line)]


def verdict(**fields: object) -> list[str]:
    return detector(
        json.dumps({"kind": "sdc", "blamed": ["rank2"], "step": 6} | fields)
    )


def test_it_gets_evidence_and_nothing_of_the_truth(run: RunDirectory) -> None:
    lines = [json.loads(line) for line in evidence_lines(run)]
    assert lines[0]["type"] == "Job"
    kinds = {line["type"] for line in lines}
    assert "CheckCompleted" in kinds
    assert not {kind for kind in kinds if kind.startswith("Fault")}
    assert not kinds & {"VerdictIssued", "RunStarted", "FileOpened"}
    text = json.dumps(lines)
    for secret in ("sdc.parameter", "stuck_bit", "expect", "seed"):
        assert secret not in text
    times = [line["t_ns"] for line in lines[1:]]
    assert times == sorted(times)


def test_it_is_scored_as_scout_is(run: RunDirectory) -> None:
    own = run.results()
    assert own is not None
    right = run_detector(verdict(), run).results
    assert right.outcome is own.outcome is Outcome.PASS
    wrong = run_detector(verdict(blamed=["rank1"]), run).results
    assert wrong.outcome is Outcome.FAIL
    assert [extra.blamed for extra in wrong.extras] == [("rank1",)]
    silent = run_detector(detector(""), run).results
    assert silent.outcome is Outcome.FAIL
    assert "was not found" in silent.reason
    late = run_detector(verdict(step=99), run).results
    assert late.outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("hello", "line 1: line: Invalid JSON"),
        ('{"kind": "sdc"}', "line 1: step: Field required"),
        ('{"kind": "gremlin", "step": 1}', "line 1: kind: "),
        ('{"kind": "sdc", "step": 1, "who": 2}', "line 1: who: "),
        ('{"kind": "sdc", "step": -1}', "line 1: step: "),
    ],
)
def test_a_wrong_line_is_named(run: RunDirectory, line: str, told: str) -> None:
    with pytest.raises(PluginFailed) as caught:
        run_detector(detector(line), run)
    assert told in str(caught.value)
    assert "allowed: an object with kind" in str(caught.value)


def test_a_detector_that_fails_hangs_or_is_not_there_is_named(
    run: RunDirectory,
) -> None:
    cases = {
        "ended with 3: no luck": ["sh", "-c", "echo no luck >&2; exit 3"],
        "did not end in 0.5 s": [sys.executable, "-c", "import time; time.sleep(60)"],
        "cannot be run": ["/nowhere/detector"],
    }  # fmt: skip
    for told, command in cases.items():
        with pytest.raises(PluginFailed, match=told):
            run_detector(command, run, timeout_s=0.5 if "did not" in told else 20)


def test_the_command_shows_who_blames_whom_beside_scout(
    tmp_path: Path, run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    rb.straggler_run(tmp_path)
    command = f"{sys.executable} {EXAMPLE}"
    assert main(["analyze", "detector", command, "--runs-dir", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "sdc rank2" in told
    assert "SCOUT  right in 2 of 2 runs; 0 missed, 0 blamed wrongly" in told
    assert main(["analyze", "detector", "", "--runs-dir", str(tmp_path)]) == 64
    assert main(["analyze", "detector", "false", "--runs-dir", str(tmp_path)]) == 3
