"""A CPU quota in a real cgroup, where this machine allows one; else a named reason."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from injectors.cpu_cgroup import CpuCgroup, controller, groups_of
from injectors.errors import CannotInject
from injectors.straggler_cpu_quota import CpuQuota, StragglerCpuQuota
from scout.clock import Stopwatch
from tests.injectors.small import Job


def allowed() -> str:
    """Why no quota can be set here; empty where one can."""
    try:
        folder = controller().folder
    except CannotInject as error:
        return str(error)
    return "" if os.access(folder, os.W_OK) else f"no right to write {folder}"


@pytest.mark.skipif(bool(allowed()), reason=allowed() or "-")
def test_the_rank_is_throttled_and_freed_and_the_group_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAULTYARD_RUN_ID", "test-quota")
    given = {"kind": "straggler.cpu_quota", "rank": 1, "at_step": 1}
    fault = CpuQuota(StragglerCpuQuota.model_validate(given), Job().context(rank=1))
    [change] = fault.inject(1)
    fault.inject(2)
    assert change.before == "none"
    assert change.after.startswith("4000 us of CPU in every 40000 us (")
    assert "this process in it" in change.after
    assert len(groups_of("test-quota")) == 1
    watch = Stopwatch()
    while time.thread_time() < watch._cpu_s + 0.02:
        pass
    taken = watch.read()
    [healed] = fault.heal(2).changes
    fault.heal(2)
    assert "throttled" in healed.before
    assert healed.after == "none"
    assert groups_of("test-quota") == []
    # 20 ms of work at 4 ms in every 40 ms: what the quota held back is charged.
    assert taken.throttled_s > 0.05
    assert taken.charged_s > 0.05


def test_without_a_controller_the_reason_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotInject, match="no CPU cgroup is mounted below"):
        controller(tmp_path)
    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    with pytest.raises(CannotInject, match="cpu controller is not enabled"):
        controller(tmp_path)
    assert groups_of("any", tmp_path) == []


def test_version_2_is_limited_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    group = CpuCgroup("rank1", tmp_path)
    group.enter(0.004, 0.04)
    assert (group.folder / "cpu.max").read_text() == "4000 40000"
    assert group.quota().startswith("4000 us of CPU in every 40000 us")
    assert (group.folder / "cgroup.procs").read_text() == str(os.getpid())


def test_a_refused_write_says_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    group = CpuCgroup("rank1", tmp_path)
    group.folder.mkdir()
    (group.folder / "cpu.max").mkdir()  # cannot be written
    with pytest.raises(CannotInject, match="needs root and a writable cgroup"):
        group.enter(0.004, 0.04)
