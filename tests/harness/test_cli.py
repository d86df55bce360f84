"""The command line: exit codes, one line per error, fast, plain in a pipe, no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import cli, queue
from harness.results import EXIT_USAGE
from harness.scenario import catalogue, parse, schema
from tests.repo.source import ROOT
from tests.run_builder import RunBuilder, clean_run, scenario_of, sdc_run

SDC = "20261130-221600-sdc-0002"
CLEAN = "20261130-221500-clean-0001"
COMMANDS = (
    "analyze", "bench", "campaign", "cancel", "clean", "demo", "doctor", "list",
    "reindex", "report", "run", "schema", "serve", "show",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    clean_run(tmp_path, CLEAN)
    sdc_run(tmp_path, SDC)
    return tmp_path


Captured = pytest.CaptureFixture[str]


def call(capsys: Captured, *words: object) -> tuple[int, str, str]:
    code = cli.main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# --- errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["foo"], "No such command 'foo'"),
        (["run"], "name a scenario (see `faultyard list`)"),
        (["run", "clean", "--bogus"], "No such option"),
        (["list", "--limit", "x"], "--limit"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--outcome", "good"], "--outcome is 'good'; allowed: pass, fail"),
        (["run", "clan"], "no such scenario (did you mean 'clean'?); got 'clan'"),
        (["run", "nothing.yaml"], "nothing.yaml: file: cannot be read"),
        (["run", "clean", "--set", "steps"], "it is not of the form a.b=value"),
        (["run", "clean", "--set", "steps=x"], "--set steps=x: steps: is of the wrong"),
        (["run", "clean", "--seed", "-1"], "seed: is out of range; got -1"),
        (["show", "nobody"], "no such scenario"),
        (["show", CLEAN], f"no run '{CLEAN}'"),
        (["cancel", CLEAN], f"no run '{CLEAN}'"),
        (["report", "last"], "no runs in"),
        (
            ["report", CLEAN, "--format", "pdf"],
            "--format is 'pdf'; allowed: html, json",
        ),
        (["bench", "nothing"], "benchmark is 'nothing'; allowed: "),
        (["serve", "--port", "0"], "--port"),
        (["serve", "--host", "0.0.0.0"], "is reachable from other machines"),
    ],
)
def test_a_wrong_command_is_one_line_and_64(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: list[str], told: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("FAULTYARD_RUNS_DIR", str(tmp_path))
    code, out, err = call(capsys, *words)
    assert code == EXIT_USAGE
    assert told in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert out == ""


def test_every_flaw_of_a_scenario_is_a_line(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("title: x\nsteps: 0\nseed: -1\n")
    code, _, err = call(capsys, "run", path, "--runs-dir", tmp_path / "runs")
    assert code == EXIT_USAGE
    assert f"{path}:2: steps" in err
    assert f"{path}:3: seed" in err
    assert not (tmp_path / "runs").exists()


def test_what_nobody_foresaw_exits_3_and_keeps_its_traceback(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr("harness.scenario.schema", broken)
    code, _, err = call(capsys, "schema")
    assert code == 3
    assert err.count("\n") == 1
    path = Path(err.rstrip().rpartition(" ")[2])
    assert "ZeroDivisionError: unforeseen" in path.read_text()
    path.unlink()


def test_a_runs_folder_that_cannot_be_made_is_an_infrastructure_error(
    capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, err = call(capsys, "run", "clean", "--runs-dir", tmp_path / "file/runs")
    assert code == 3
    assert "runs folder" in err


# --- help ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys: Captured, command: str) -> None:
    code, out, err = call(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert f"faultyard {command}" in out


def test_without_a_command_help_is_shown(capsys: Captured) -> None:
    code, out, err = call(capsys)
    assert (code, err) == (EXIT_USAGE, "")
    assert all(command in out for command in COMMANDS)


# --- list, show, report --------------------------------------------------------------


def test_list_shows_scenarios_and_runs(capsys: Captured, root: Path) -> None:
    code, out, _ = call(capsys, "list", "--runs-dir", root)
    assert code == 0
    assert all(name in out for name in catalogue())
    [line] = [line for line in out.splitlines() if line.startswith(SDC)]
    assert line.split() == [SDC, "pass", "sdc", "rank2", "sdc", "rank2", "9.5", "s"]


def test_list_as_json_is_for_programs(capsys: Captured, root: Path) -> None:
    _, out, _ = call(capsys, "list", "--json", "--runs-dir", root)
    data = json.loads(out)
    assert {row["name"] for row in data["scenarios"]} == set(catalogue())
    assert [row["run_id"] for row in data["runs"]] == [SDC, CLEAN]
    assert [row["is_live"] for row in data["runs"]] == [False, False]


def test_list_filters_by_outcome(capsys: Captured, root: Path) -> None:
    _, out, _ = call(capsys, "list", "--outcome", "fail", "--runs-dir", root)
    assert "No runs of outcome fail" in out
    _, out, _ = call(capsys, "list", "--limit", "1", "--runs-dir", root)
    assert SDC in out
    assert CLEAN not in out


def test_a_list_without_runs_says_how_to_start_one(
    capsys: Captured, tmp_path: Path
) -> None:
    code, out, _ = call(capsys, "list", "--runs-dir", tmp_path / "none")
    assert code == 0
    assert "faultyard run clean" in out
    assert not (tmp_path / "none").exists()


def test_show_prints_expected_beside_found(capsys: Captured, root: Path) -> None:
    code, out, _ = call(capsys, "show", "last", "--runs-dir", root)
    assert code == 0
    assert SDC in out
    assert "SDC of rank2, steps 5 to 8  found" in out
    assert "rank2 computes wrong values" in out
    assert "3 of 4" in out
    assert "Repeat with" in out


def test_show_as_json_is_the_page_s_twin(capsys: Captured, root: Path) -> None:
    _, out, _ = call(capsys, "show", SDC, "--json", "--runs-dir", root)
    assert json.loads(out)["run_id"] == SDC
    _, report, _ = call(
        capsys, "report", SDC, "-f", "json", "-o", "-", "--runs-dir", root
    )
    shown, exported = json.loads(out), json.loads(report)
    assert shown["facts"] == exported["facts"]


def test_show_says_what_is_known_of_a_killed_run(
    capsys: Captured, tmp_path: Path
) -> None:
    builder = RunBuilder(tmp_path, scenario_of("sdc"), SDC)
    builder.start()
    builder.step(1)
    builder.close()
    code, out, _ = call(capsys, "show", SDC, "--runs-dir", tmp_path)
    assert code == 0
    assert "killed while it ran" in out
    assert "not judged" in out
    _, out, _ = call(capsys, "list", "--runs-dir", tmp_path)
    assert f"{SDC}  killed" in out


def test_show_prints_a_scenario_in_its_canonical_form(capsys: Captured) -> None:
    code, out, _ = call(capsys, "show", "sdc-parameter")
    assert code == 0
    assert parse(out).title in out


@pytest.mark.parametrize("format", ["html", "json", "junit"])
def test_a_report_is_written_into_the_run_s_folder(
    capsys: Captured, root: Path, format: str
) -> None:
    code, out, _ = call(capsys, "report", SDC, "--format", format, "--runs-dir", root)
    path = Path(out.strip())
    assert code == 0
    assert path.parent == root / SDC
    assert SDC in path.read_text()


def test_a_report_goes_where_it_is_wanted(
    capsys: Captured, root: Path, tmp_path: Path
) -> None:
    wanted = tmp_path / "out.html"
    call(capsys, "report", SDC, "--out", wanted, "--runs-dir", root)
    assert wanted.exists()
    code, _, err = call(
        capsys, "report", SDC, "--out", tmp_path / "no/such/x", "--runs-dir", root
    )
    assert code == 3
    assert "cannot write the report" in err


# --- upkeep --------------------------------------------------------------------------


def test_clean_prints_what_it_removes_and_keeps_what_lives(
    capsys: Captured, root: Path
) -> None:
    (root / SDC / "control" / "cancel").touch()
    ticket = queue.join(root, CLEAN)
    code, out, _ = call(capsys, "clean", "--runs-dir", root)
    assert code == 0
    assert f"removed control file cancel of {SDC}" in out
    assert f"kept    {CLEAN}: it is going on" in out
    _, out, _ = call(capsys, "clean", "--runs-dir", root)
    assert "nothing to remove" in out
    ticket.leave()


def test_a_run_that_is_over_cannot_be_cancelled(capsys: Captured, root: Path) -> None:
    code, _, err = call(capsys, "cancel", SDC, "--runs-dir", root)
    assert code == EXIT_USAGE
    assert "is not going on" in err


def test_a_run_that_goes_on_is_asked_to_end(capsys: Captured, root: Path) -> None:
    (root / CLEAN / "ended.json").unlink()
    ticket = queue.join(root, CLEAN)
    code, out, _ = call(capsys, "cancel", CLEAN, "--runs-dir", root)
    assert code == 0
    assert "asked" in out
    assert (root / CLEAN / "control" / "cancel").exists()
    ticket.leave()


def test_reindex_counts_runs(capsys: Captured, root: Path) -> None:
    _, out, _ = call(capsys, "reindex", "--runs-dir", root)
    assert out == "2 runs in the index\n"


def test_the_schema_is_that_of_scenarios(capsys: Captured) -> None:
    _, out, _ = call(capsys, "schema")
    assert json.loads(out) == json.loads(json.dumps(schema()))


def test_bench_without_a_name_lists_the_names(capsys: Captured) -> None:
    code, out, _ = call(capsys, "bench")
    assert code == 0
    assert "signature" in out.splitlines()


def test_the_doctor_names_what_is_missing_and_how_to_get_it(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = call(capsys, "doctor", "--runs-dir", tmp_path)
    assert code == 0
    assert "MISSING" not in out
    monkeypatch.setattr("harness.machine._version", lambda name: "none")
    code, out, _ = call(capsys, "doctor", "--runs-dir", tmp_path)
    assert code == 3
    assert "MISSING" in out
    assert "pip install torch==2.13.0" in out
    assert "Missing: torch 2.13.0, numpy" in out


# --- the process itself --------------------------------------------------------------


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [["list"], ["show", "last"], ["doctor"], ["schema"]])
def test_no_command_imports_torch(root: Path, words: list[str]) -> None:
    code = (
        "import sys; from harness import cli\n"
        "code = cli.main(sys.argv[1:]); assert code == 0, code\n"
        "assert 'torch' not in sys.modules"
    )
    where = [] if words == ["schema"] else ["--runs-dir", str(root)]
    done = python(code, *words, *where)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["list"], ["show", "last"], ["doctor"], ["--help"]])
def test_a_pipe_gets_no_control_codes(root: Path, words: list[str]) -> None:
    code = "import sys; from harness import cli; sys.exit(cli.main(sys.argv[1:]))"
    where = [] if words == ["--help"] else ["--runs-dir", str(root)]
    done = python(code, *words, *where)
    assert "\x1b" not in done.stdout + done.stderr
    assert done.returncode == 0


def test_help_needs_little_time() -> None:
    """CPU seconds of the process, which other load inflates less than wall time."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'harness.cli', '--help'],"
        " stdout=subprocess.DEVNULL, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    # 0.3 s on the idle machine; the bound leaves room for one that is not.
    assert float(python(code).stdout) < 1.0


def test_a_reader_that_has_enough_is_no_error(root: Path) -> None:
    code = "import sys; from harness import cli; sys.exit(cli.main(sys.argv[1:]))"
    done = subprocess.run(
        f"{sys.executable} -c {code!r} schema | head -c 10; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
