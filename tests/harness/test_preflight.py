"""A dry run names what is missing, with a fix, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import preflight as pf
from harness import queue
from harness.machine import Item
from harness.preflight import Level
from harness.scenario import Scenario, from_data
from injectors.cpu_cgroup import Controller
from injectors.errors import CannotInject


@pytest.fixture(autouse=True)
def _good_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Item(name="python", is_ok=True, found="3.11", fix="")
    monkeypatch.setattr(pf, "examine", lambda runs: iter([good]))


def scenario(**extra: object) -> Scenario:
    return from_data(
        {"title": "x", "workload": {"parallel": {"replicate": 4}}, **extra}
    )


def by_name(scenario: Scenario, root: Path) -> dict[str, pf.PreflightItem]:
    return {item.name: item for item in pf.preflight(scenario, root)}


def test_a_machine_that_has_everything_can_run(tmp_path: Path) -> None:
    items = pf.preflight(scenario(), tmp_path)
    assert pf.can_run(items)
    assert all(item.fix == "" for item in items if item.level is Level.OK)


def test_a_missing_part_of_the_machine_comes_first_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Item(name="chromium", is_ok=False, found="", fix="", is_optional=True),
        Item(name="torch", is_ok=False, found="none", fix="pip install torch"),
    ]
    monkeypatch.setattr(pf, "examine", lambda runs: iter(found))
    items = pf.preflight(scenario(), tmp_path)
    assert (items[0].name, items[0].fix) == ("torch", "pip install torch")
    assert not pf.can_run(items)
    assert "chromium" not in {item.name for item in items}


def test_too_little_memory_stops_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pf, "available_bytes", lambda: 2**20)
    item = by_name(scenario(), tmp_path)["memory"]
    assert (item.level, "fewer ranks" in item.fix) == (Level.MISSING, True)
    monkeypatch.setattr(pf, "available_bytes", lambda: None)
    assert "memory" not in by_name(scenario(), tmp_path)


def test_a_quota_needs_a_cgroup_that_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = {"kind": "straggler.cpu_quota", "rank": 1, "at_step": 2}
    wanted = scenario(faults=[fault])
    monkeypatch.setattr(pf, "controller",
                        lambda: Controller(folder=tmp_path, version=2))  # fmt: skip
    assert by_name(wanted, tmp_path)["CPU quota of a rank"].level is Level.OK

    def without() -> Controller:
        raise CannotInject("no CPU cgroup is mounted")

    monkeypatch.setattr(pf, "controller", without)
    item = by_name(wanted, tmp_path)["CPU quota of a rank"]
    assert (item.level, item.fix) == (Level.MISSING, "no CPU cgroup is mounted")
    assert "CPU quota of a rank" not in by_name(scenario(), tmp_path)


def test_runs_ahead_are_a_warning_and_no_obstacle(tmp_path: Path) -> None:
    ticket = queue.join(tmp_path.resolve(), "20261130-221600-a-0001")
    try:
        items = pf.preflight(scenario(), tmp_path)
    finally:
        ticket.leave()
    found = {item.name: item for item in items}["queue"]
    assert (found.level, found.found) == (Level.WARNING, "1 run ahead")
    assert pf.can_run(items)


def test_available_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 9 kB\nMemAvailable:  1024 kB\n")
    assert pf.available_bytes(path) == 2**20
    path.write_text("MemTotal: 9 kB\n")
    assert pf.available_bytes(path) is None
    assert pf.available_bytes(tmp_path / "none") is None
