"""A folder of dumps: files by prefix and rank, and every reason to refuse one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.flight_folder import read
from scout.errors import DumpError
from tests.scout.dump_builder import WORLD, calls, content, pickled

DUMP = pickled(content(calls(2, pending=True), {WORLD: range(3)}))


def test_any_prefix_is_read_and_the_rank_is_the_number_at_the_end(
    tmp_path: Path,
) -> None:
    for rank in (0, 2, 10):
        (tmp_path / f"job7.trace-{rank}").write_bytes(DUMP)
    (tmp_path / "README").write_text("not a dump")
    found = read(tmp_path)
    assert [dump.rank for dump in found.dumps] == [0, 2, 10]
    assert (found.prefix, found.ignored) == ("job7.trace-", ("README",))


def test_json_and_pickle_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    value = content(calls(2, pending=True), {WORLD: range(3)})
    (tmp_path / "r0.json").write_text(json.dumps(value))
    (tmp_path / "r1.pkl").write_bytes(DUMP)
    (tmp_path / "r2").write_bytes(DUMP)
    first, second, third = read(tmp_path).dumps
    assert first.operations == second.operations == third.operations


def test_the_age_of_a_dump_is_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "r0").write_bytes(DUMP)
    (dump,) = read(tmp_path).dumps
    assert dump.written_ns == (tmp_path / "r0").stat().st_mtime_ns


def test_dumps_of_several_jobs_ask_for_a_prefix(tmp_path: Path) -> None:
    for name in ("a_0", "b_0", "b_1"):
        (tmp_path / name).write_bytes(DUMP)
    with pytest.raises(UsageError, match=r"by --prefix; allowed: 'a_', 'b_'"):
        read(tmp_path)
    assert len(read(tmp_path, "b_").dumps) == 2
    with pytest.raises(UsageError, match=r"--prefix is 'c_'; allowed: 'a_', 'b_'"):
        read(tmp_path, "c_")


def test_a_folder_without_dumps_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file's name ends in a rank"):
        read(tmp_path)
    with pytest.raises(UsageError, match="allowed: none"):
        read(tmp_path, "x")
    with pytest.raises(UsageError, match=r"DIR is .*; allowed: a folder of dumps"):
        read(tmp_path / "nowhere")


def test_an_impossible_rank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r99999999999999999999").write_bytes(DUMP)
    with pytest.raises(UsageError, match="allowed: 0 to 131071"):
        read(tmp_path)


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "r0").write_bytes(DUMP)
    (tmp_path / "r1").write_bytes(DUMP[:-20])
    with pytest.raises(DumpError, match=r"^r1: file: is no whole pickle"):
        read(tmp_path)
