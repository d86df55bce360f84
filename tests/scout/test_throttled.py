"""Throttled time is found for both versions of cgroups, and counted for nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scout.clock import charged
from scout.throttled import in_seconds, stat_files, throttled_s


def folder(root: Path, *names: str) -> None:
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "cpu.stat").write_text("nr_throttled 0\n")


def test_version_1_counts_the_own_group_and_those_above_it(tmp_path: Path) -> None:
    folder(tmp_path, "cpu", "cpu/jobs", "cpu/jobs/rank1", "memory")
    text = "4:memory:/elsewhere\n1:cpu:/jobs/rank1\n0::/\n"
    found = [str(path.relative_to(tmp_path)) for path in stat_files(text, tmp_path)]
    assert found == ["cpu/jobs/rank1/cpu.stat", "cpu/jobs/cpu.stat", "cpu/cpu.stat"]


def test_version_2_is_one_tree(tmp_path: Path) -> None:
    folder(tmp_path, "", "jobs", "jobs/rank1")
    found = stat_files("0::/jobs/rank1\n", tmp_path)
    assert [path.parent.name for path in found] == ["rank1", "jobs", tmp_path.name]


def test_a_path_of_another_mount_gives_what_is_there(tmp_path: Path) -> None:
    folder(tmp_path, "cpu,cpuacct")
    [path] = stat_files("3:cpuacct,cpu:/docker/0a1b\n", tmp_path)
    assert path == tmp_path / "cpu,cpuacct" / "cpu.stat"


@pytest.mark.parametrize(
    ("stat", "seconds"),
    [
        (b"nr_periods 4\nnr_throttled 2\nthrottled_time 1500000000\n", 1.5),
        (b"usage_usec 9\nnr_throttled 2\nthrottled_usec 250000\n", 0.25),
        (b"usage_usec 9\n", 0.0),
    ],
)
def test_both_formats_are_seconds(stat: bytes, seconds: float) -> None:
    assert in_seconds(stat) == seconds


def test_here_it_can_be_read_and_never_falls() -> None:
    first = throttled_s()
    assert 0 <= first <= throttled_s()


def test_a_quota_is_charged_and_contention_is_not() -> None:
    assert charged(1.0, 0.1, 0.9) == pytest.approx(0.1)
    assert charged(1.0, 0.1, 0.9, 0.6) == pytest.approx(0.7)
    assert charged(1.0, 0.1, 0.3, 0.6) == 1.0  # a cgroup may count others, too
