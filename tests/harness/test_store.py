"""Run directories: whole or not there, readable in any state, nothing outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import UnknownRun
from harness.store import (
    Ended,
    Meta,
    RunDirectory,
    Store,
    is_run_id,
    new_run_id,
    write_atomically,
)
from tests.harness.played import FINISHED, scenario
from tests.run_builder import clean_run

RUN = "20261130-221500-clean-0001"


def meta(run_id: str) -> Meta:
    return Meta(
        run_id=run_id,
        scenario_name="clean",
        title="played",
        seed=0,
        num_ranks=4,
        num_steps=12,
        created_wall_ns=1,
        command="faultyard run clean",
        commit="unknown",
        dirty=True,
    )


def test_a_new_run_has_its_first_phase_and_nothing_more(tmp_path: Path) -> None:
    run = Store(tmp_path).create(scenario(), meta(RUN))
    assert run.meta() == meta(RUN)
    assert run.scenario() == scenario()
    assert (run.ended(), run.results()) == (None, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [RUN]


def test_phases_are_read_back_as_written(tmp_path: Path) -> None:
    run = clean_run(tmp_path, RUN)
    results = run.results()
    assert results is not None
    run.write_results(results)
    run.write_ended(FINISHED)
    assert (run.results(), run.ended()) == (results, FINISHED)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"reason": 3}', "\x00"])
def test_a_damaged_phase_is_absent_and_not_an_error(
    tmp_path: Path, content: str
) -> None:
    run = clean_run(tmp_path, RUN)
    for name in ("meta.json", "ended.json", "results.json"):
        (run.path / name).write_text(content)
    assert (run.meta(), run.ended(), run.results()) == (None, None, None)


def test_a_draft_is_no_run(tmp_path: Path) -> None:
    (tmp_path / f".draft-{RUN}").mkdir()
    (tmp_path / "index.sqlite").touch()
    assert Store(tmp_path).runs() == []


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    for name in (RUN, "20271130-221500-clean-0001", "20261130-221501-a-0001"):
        clean_run(tmp_path, name)
    found = [run.run_id for run in Store(tmp_path).runs()]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    "name",
    ["..", "../x", RUN + "/..", "", ".", "last", f".draft-{RUN}", RUN.upper(),
     RUN + "\n", "20261130-221500-a/b-0001"],
)  # fmt: skip
def test_only_ids_of_runs_are_opened(tmp_path: Path, name: str) -> None:
    clean_run(tmp_path, RUN)
    assert not is_run_id(name)
    with pytest.raises(UnknownRun, match="no run"):
        Store(tmp_path).open(name)


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match=RUN):
        Store(tmp_path).open(RUN)


@pytest.mark.parametrize("name", ["clean", "Ünïcode & spaces", "", "x" * 300, "a..b-"])
def test_every_scenario_name_makes_a_valid_id(name: str) -> None:
    assert is_run_id(new_run_id(name))


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ended.json"
    write_atomically(path, "old")

    def no_space(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"


def test_ended_keeps_what_was_not_measured() -> None:
    ended = Ended(reason="cancelled", detail="", wall_s=0.5, first_step_s=None)
    assert ended.first_step_s is None


def test_a_run_reads_its_own_events(tmp_path: Path) -> None:
    run: RunDirectory = clean_run(tmp_path, RUN)
    sources = {stamped.source for stamped in run.reader().read().events}
    assert {"harness", "rank0", "rank3", "observer1"} <= sources
