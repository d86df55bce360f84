"""The index follows the folder, whatever happens to either."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
from pathlib import Path

import pytest

from harness.errors import InfrastructureError
from harness.index import FILE, URL_VARIABLE, Index, row_of
from harness.store import Store
from tests.run_builder import RunBuilder, clean_run, scenario_of, sdc_run

SDC = "20261130-221600-sdc-0002"
CLEAN = "20261130-221500-clean-0001"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    clean_run(tmp_path, CLEAN)
    sdc_run(tmp_path, SDC)
    return tmp_path


def ids(index: Index) -> list[str]:
    return [row.run_id for row in index.rows()]


def test_a_row_says_who_was_expected_and_who_was_found(root: Path) -> None:
    row = row_of(Store(root).open(SDC))
    assert (row.outcome, row.expected, row.found) == ("pass", "sdc rank2", "sdc rank2")
    clean = row_of(Store(root).open(CLEAN))
    assert (clean.expected, clean.found) == ("nobody", "nobody")


def test_a_run_without_results_has_no_outcome(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path, scenario_of("clean"), CLEAN)
    builder.start()
    row = row_of(builder.close())
    assert (row.outcome, row.found, row.wall_s) == (None, None, None)


def test_sync_takes_in_what_is_new_and_drops_what_is_gone(root: Path) -> None:
    index = Index.of(root)
    index.sync()
    assert ids(index) == [SDC, CLEAN]
    shutil.rmtree(root / CLEAN)
    sdc_run(root, "20261130-221700-sdc-0003")
    index.sync()
    assert ids(index) == ["20261130-221700-sdc-0003", SDC]


def test_sync_updates_a_run_that_has_ended_since(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path, scenario_of("clean"), CLEAN)
    builder.start()
    builder.close()
    index = Index.of(tmp_path)
    index.sync()
    assert [row.outcome for row in index.rows()] == [None]
    finished = clean_run(tmp_path / "elsewhere", CLEAN)
    shutil.copy(finished.path / "results.json", tmp_path / CLEAN)
    index.sync()
    assert [row.outcome for row in index.rows()] == ["pass"]


def test_rows_are_filtered_and_paged(root: Path) -> None:
    index = Index.of(root)
    index.sync()
    assert [row.run_id for row in index.rows(scenario="clean")] == [CLEAN]
    assert index.rows(outcome="fail") == []
    assert [row.run_id for row in index.rows(limit=1, offset=1)] == [CLEAN]


def test_a_deleted_index_is_made_again(root: Path) -> None:
    index = Index.of(root)
    index.sync()
    before = index.rows()
    (root / FILE).unlink()
    index.sync()
    assert index.rows() == before


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough" * 99])
def test_a_damaged_index_is_made_again(root: Path, content: bytes) -> None:
    (root / FILE).write_bytes(content)
    index = Index.of(root)
    index.sync()
    assert ids(index) == [SDC, CLEAN]


def test_an_index_of_an_older_version_is_made_again(root: Path) -> None:
    connection = sqlite3.connect(root / FILE)
    connection.execute("CREATE TABLE runs (run_id TEXT)")
    connection.commit()
    connection.close()
    assert ids(Index.of(root)) == [SDC, CLEAN]


def test_a_busy_index_is_an_error_and_is_not_thrown_away(root: Path) -> None:
    index = Index.of(root, busy_s=0.0)
    Index.of(root).sync()
    holder = sqlite3.connect(root / FILE, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(InfrastructureError, match="locked"):
            index.rows()
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert ids(index) == [SDC, CLEAN]


def test_rebuild_counts_the_runs(root: Path) -> None:
    assert Index.of(root).rebuild() == 2
    assert ids(Index.of(root)) == [SDC, CLEAN]


def test_two_folders_may_share_one_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    clean_run(tmp_path / "a", CLEAN)
    sdc_run(tmp_path / "b", SDC)
    first, second = Index.of(tmp_path / "a", url), Index.of(tmp_path / "b", url)
    first.sync()
    second.sync()
    assert (ids(first), ids(second)) == ([CLEAN], [SDC])


def test_a_url_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=f"{URL_VARIABLE} is no database URL"):
        Index.of(tmp_path, "nonsense").rows()


def _put_all(root: Path) -> None:
    for run in Store(root).runs():
        Index.of(root).put(run)


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    for number in range(6):
        clean_run(tmp_path, f"20261130-22150{number}-clean-000{number}")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_put_all, args=(tmp_path,)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert len(ids(Index.of(tmp_path))) == 6
