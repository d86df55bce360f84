"""A user's own torchrun script: what the command line makes of it, and real runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.commands.own_script import OwnScript, command_of, scenario_of
from harness.errors import ScenarioError, UsageError
from harness.launch import launch
from harness.results import Outcome
from harness.store import Store
from vocab.verdict import State

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "train_digits.py"
ASKED = OwnScript(
    script=EXAMPLE, ranks=4, steps=None, faults=(), rank=None, at_step=None,
    faults_file=None, expect=(), args=(), seed=None, settings=(),
)  # fmt: skip
ACCUMULATING = """
import sys
import helper                      # a module beside the script
import torch, torch.distributed as dist
from torch import nn

def main():
    assert sys.argv[1:] == ["--lr", "0.1"], sys.argv
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 10))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), float(sys.argv[2]))
    torch.manual_seed(1 + dist.get_rank())
    for epoch in range(2):
        for batch in range(30):
            x, y = torch.randn(8, 32), torch.randint(10, (8,))
            loss = nn.functional.cross_entropy(model(x), y)
            if batch % 2 == 0:
                with model.no_sync():
                    nn.functional.cross_entropy(model(x), y).backward()
                continue
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 32))
        model.train()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""
FAILING = """
import torch.distributed as dist
dist.init_process_group("gloo")
raise ValueError("my own bug")
"""


def test_the_readme_shows_the_example_as_it_is() -> None:
    code = EXAMPLE.read_text().split("\n", 2)[2].strip()
    assert code.count("\n") <= 30
    assert code in (ROOT / "README.md").read_text()


def test_what_is_not_said_follows_from_the_faults() -> None:
    asked = replace(ASKED, faults=("sdc.parameter,stuck_bit=3",), rank=2, at_step=9)
    scenario = scenario_of(asked)
    (fault,) = scenario.faults
    assert (fault.kind, fault.rank, fault.at_step) == ("sdc.parameter", 2, 9)  # type: ignore[attr-defined]
    (expected,) = scenario.expect
    assert (expected.ranks, expected.state) == ((2,), State.ATTRIBUTED)
    assert scenario_of(ASKED).expect == ()
    two = replace(asked, ranks=2, rank=1)
    assert scenario_of(two).expect[0].state is State.GROUP_SCOPED
    calm = replace(asked, expect=("nobody",))
    assert scenario_of(calm).expect == ()


def test_a_hang_lasts_longer_than_the_silence_after_which_it_is_looked_into() -> None:
    asked = replace(ASKED, faults=("hang.frozen",), rank=1, at_step=5,
                    settings=("scout.silence_s=4",))  # fmt: skip
    (fault,) = scenario_of(asked).faults
    assert fault.duration_s == 12.0  # type: ignore[attr-defined]


def test_the_command_that_repeats_a_run_says_everything() -> None:
    asked = replace(ASKED, faults=("hang.frozen",), rank=1, at_step=5, seed=3,
                    args=("--lr", "0 1"), settings=("scout.kappa=8",))  # fmt: skip
    command = command_of(asked, Path("/data"))
    for words in ("--fault hang.frozen", "--rank 1", "--at-step 5", "--seed 3",
                  "--set workload.cwd=/data", "--set scout.kappa=8", "-- --lr '0 1'",
                  str(EXAMPLE)):  # fmt: skip
        assert words in command


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ranks": None}, "--script needs --ranks"),
        ({"rank": 1}, "there is no --fault"),
        ({"faults": ("sdc.parameter,stuck_bit",)}, "must be of the form KIND,field"),
        ({"faults": ("sdc.gone",), "rank": 1, "at_step": 1}, "sdc.gone"),
        ({"faults": ("hang.frozen",), "rank": 7, "at_step": 1}, "no such rank"),
        ({"faults": ("straggler.input",), "rank": 1, "at_step": 1}, "shows its batch"),
        ({"expect": ("nobody", "sdc")}, "it stands alone"),
        ({"faults_file": Path("/nowhere.yaml")}, "cannot be read"),
        ({"settings": ("workload.scrpt=x",)}, "workload.scrpt"),
    ],
)
def test_a_wrong_option_is_named(change: dict[str, object], told: str) -> None:
    with pytest.raises((UsageError, ScenarioError)) as caught:
        scenario_of(replace(ASKED, **change))  # type: ignore[arg-type]
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("gone.py", None, "is not there"),
        ("broken.py", "def x(:\n", r"is not Python: .* \(line 1\)"),
        ("mine.py", "import scout\n", "stands beside scout.py"),
    ],
)
def test_a_script_that_cannot_run_costs_no_run(
    tmp_path: Path, name: str, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    if name == "mine.py":
        (tmp_path / "scout.py").write_text("")
    scenario = scenario_of(replace(ASKED, script=tmp_path / name))
    with pytest.raises(ScenarioError) as caught:
        launch(scenario, runs_root=tmp_path / "runs", name="x")
    assert re.search(told, str(caught.value))
    assert not (tmp_path / "runs").exists()


def outcome(runs: Path) -> tuple[Outcome, tuple[str, ...], int]:
    """(outcome, blamed, steps that every rank did) of the only run."""
    (run,) = Store(runs).runs()
    results = run.results()
    assert results is not None
    blamed = [n for item in results.incidents if item.found for n in item.targets]
    return results.outcome, tuple(blamed), min(results.steps_done)


@pytest.mark.jobs
def test_the_example_runs_as_it_is_and_its_faulty_rank_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "--script", str(EXAMPLE), "--ranks", "4", "--runs-dir",
               str(tmp_path), "--fault", "sdc.parameter", "--rank", "2",
               "--at-step", "10"]  # fmt: skip
    assert main(command) == 0
    assert "rank2 computes wrong values" in capsys.readouterr().out
    assert outcome(tmp_path) == (Outcome.PASS, ("rank2",), 40)


@pytest.mark.jobs
def test_accumulation_epochs_evaluations_and_arguments_are_the_scripts_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(ACCUMULATING)
    (tmp_path / "helper.py").write_text("")
    command = ["run", "--script", str(script), "--ranks", "4", "--runs-dir",
               str(tmp_path / "runs"), "--fault", "sdc.gradient,where=after",
               "--rank", "3", "--at-step", "6", "--", "--lr", "0.1"]  # fmt: skip
    assert main(command) == 0, capsys.readouterr().out
    assert outcome(tmp_path / "runs") == (Outcome.PASS, ("rank3",), 30)


@pytest.mark.jobs
def test_an_error_of_the_script_is_shown_from_its_own_line_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(FAILING)
    command = ["run", "--script", str(script), "--ranks", "2", "--runs-dir",
               str(tmp_path / "runs")]  # fmt: skip
    assert main(command) == 3
    told = capsys.readouterr().out
    assert 'train.py", line 4, in <module>' in told
    assert "ValueError: my own bug" in told
    assert "runpy" not in told
