"""Timings of a job that ran elsewhere: only peers of one stage are compared."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import ScenarioError, UsageError
from harness.timings import COLUMNS, Table, decide, read, tradeoff
from scout.config import ScoutConfig

CONFIG = ScoutConfig()


def written(folder: Path, slow_steps: tuple[int, ...], stage_s: float = 0.1) -> Table:
    """4 dp ranks, 2 stages, 6 steps; stage 1 is slower; rank 2 of stage 0 at steps."""
    lines = [",".join(COLUMNS)]
    for step in range(6):
        for rank in range(4):
            first = 0.9 if rank == 2 and step in slow_steps else 0.1 + rank / 1000
            lines.append(f"{step},{rank},0,0,forward,{first}")
            lines.append(f"{step},{rank},1,0,forward,{stage_s + rank / 1000}")
    path = folder / "timings.csv"
    path.write_text("\n".join(lines) + "\n")
    return read(path)


def test_a_slower_pipeline_stage_blames_nobody(tmp_path: Path) -> None:
    assert decide(written(tmp_path, (), stage_s=3.0), CONFIG) == ((), 0)


def test_one_slow_step_is_not_confirmed_and_two_are(tmp_path: Path) -> None:
    assert decide(written(tmp_path, (3,)), CONFIG) == ((), 1)
    [found], num_raw = decide(written(tmp_path, (3, 4)), CONFIG)
    assert (found.dp_rank, found.stage, found.steps) == (2, 0, (3, 4))
    assert num_raw == 2


def test_a_larger_kappa_never_marks_more(tmp_path: Path) -> None:
    rows = tradeoff(written(tmp_path, (3, 4)), CONFIG)
    counts = [row.num_raw for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert rows[0].num_confirmed == 1


def parquet(csv_path: Path, **changed: object) -> Path:
    """The same table as a Parquet file, with typed columns."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    table = pa.csv.read_csv(csv_path)
    for name, values in changed.items():
        column = name.replace("_", " ")
        place = table.column_names.index(column)
        table = table.set_column(place, column, pa.array(values))
    path = csv_path.with_suffix(".parquet")
    pq.write_table(table, path, row_group_size=7)
    return path


def test_a_parquet_table_is_read_as_the_same_table(tmp_path: Path) -> None:
    table = written(tmp_path, (3, 4))
    assert read(parquet(tmp_path / "timings.csv")) == table


def test_a_bad_cell_of_a_parquet_table_names_its_row(tmp_path: Path) -> None:
    written(tmp_path, ())
    ranks = [0] * 8 + [None] + [0] * 39
    with pytest.raises(ScenarioError) as caught:
        read(parquet(tmp_path / "timings.csv", dp_rank=ranks))
    named = [flaw for flaw in caught.value.flaws if flaw.value == "None"]
    assert [(flaw.line, flaw.field) for flaw in named] == [(9, "dp rank")]


def test_what_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"step,dp rank")
    with pytest.raises(ScenarioError, match="a Parquet file"):
        read(path)


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"faultyard\[parquet\]"):
        read(tmp_path / "x.parquet")


def test_a_bad_cell_names_line_column_value_and_what_is_allowed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(",".join(COLUMNS) + "\n1,x,0,0,forward,nan\n")
    with pytest.raises(ScenarioError) as caught:
        read(path)
    first, second = caught.value.flaws
    assert (first.line, first.field, first.value) == (2, "dp rank", "'x'")
    assert (second.line, second.field, second.value) == (2, "duration", "'nan'")
    assert first.allowed == "0, 1, 2, ..."


def test_the_command_names_the_rank_and_shows_the_trade_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, (3, 4))
    path = str(tmp_path / "timings.csv")
    assert main(["analyze", "timings", path, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [item["dp_rank"] for item in told["stragglers"]] == [2]
    assert [row["kappa"] for row in told["tradeoff"]] == [3.0, 5.0, 7.0, 10.0]
    assert main(["analyze", "timings", path]) == 0
    assert "1 confirmed of 2 single outliers" in capsys.readouterr().out


def test_the_command_refuses_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", "timings", "table.xlsx"]) == 64
    assert "allowed: a .csv or .parquet file" in capsys.readouterr().err
    assert main(["analyze", "timings", str(tmp_path / "no.csv")]) == 3


def test_a_number_of_thousands_of_digits_is_a_flaw(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    head = "step,dp rank,stage,tp rank,operation,duration\n"
    file.write_text(head + "9" * 5000 + ",0,0,0,forward,1\n")
    with pytest.raises(ScenarioError, match="step"):
        read(file)
