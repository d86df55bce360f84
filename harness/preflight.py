"""A dry run: would this scenario run here, and what must be mended first?

Called by the dashboard's launch page before anything starts. Looks at the machine
(`machine`), the queue and what the scenario's own faults need; changes nothing and
decides nothing about a run: a launch that a warning advises against still starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness import queue
from harness.machine import docker_item, examine
from harness.scenario import Scenario
from injectors.cpu_cgroup import controller
from injectors.errors import CannotInject

# A rank, its observer and its share of zygote and harness: proportional set size of
# `clean` on 4 ranks, measured at 382 MiB in all.
RANK_BYTES = 96 * 2**20
# Parameter, gradient, two AdamW slots and one captured copy, 4 bytes each.
_BYTES_A_PARAMETER = 5 * 4
_MEMINFO = Path("/proc/meminfo")


class Level(StrEnum):
    """What an item means for the launch."""

    OK = "ok"
    WARNING = "warning"  # it runs, with a limit that the item names
    MISSING = "missing"  # it cannot run like this


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightItem:
    """One thing that was looked at; `fix` is "" where nothing is to be done."""

    name: str
    level: Level
    found: str
    fix: str


def preflight(scenario: Scenario, runs_root: Path) -> tuple[PreflightItem, ...]:
    """What a launch of `scenario` needs, worst first."""
    items = [
        *_of_scenario(scenario),
        *_of_queue(runs_root),
        *_of_machine(runs_root),
    ]
    order = list(reversed(Level))
    return tuple(sorted(items, key=lambda item: order.index(item.level)))


def can_run(items: tuple[PreflightItem, ...]) -> bool:
    """Whether nothing that is needed is missing."""
    return all(item.level is not Level.MISSING for item in items)


def memory_bytes(scenario: Scenario) -> int:
    """About how much memory all ranks need together."""
    work = scenario.workload
    block = 12 * work.d_model**2  # attention 4 d², MLP 8 d²
    parameters = work.num_layers * block + 2 * work.vocab_size * work.d_model
    return scenario.num_ranks * (RANK_BYTES + parameters * _BYTES_A_PARAMETER)


def _of_scenario(scenario: Scenario) -> Iterator[PreflightItem]:
    cores = len(os.sched_getaffinity(0))
    ranks = scenario.num_ranks
    yield _item(
        "ranks on cores",
        Level.OK if ranks <= 4 * cores else Level.WARNING,
        f"{ranks} ranks on {cores} cores",
        f"use {4 * cores} ranks or fewer: timings of stragglers become noisy above",
    )
    need, free = memory_bytes(scenario), available_bytes()
    if free is not None:
        yield _item(
            "memory",
            Level.OK if need <= free else Level.MISSING,
            f"about {need / 2**30:.1f} GiB needed, {free / 2**30:.1f} GiB free",
            "use fewer ranks or a smaller model, or end other programs",
        )
    if scenario.runtime == "docker":
        item = docker_item(scenario.hosts.context, is_optional=False)
        level = Level.OK if item.is_ok else Level.MISSING
        yield _item(item.name, level, item.found, item.fix)
    elif any(fault.kind == "straggler.cpu_quota" for fault in scenario.faults):
        yield _cpu_quota()


def _cpu_quota() -> PreflightItem:
    name = "CPU quota of a rank"
    try:
        folder = controller().folder
    except CannotInject as error:
        return _item(name, Level.MISSING, "no CPU cgroup", str(error))
    can_write = os.access(folder, os.W_OK)
    found = f"{folder} {'can' if can_write else 'cannot'} be written"
    fix = f"run as root, or: sudo chown $USER {folder}"
    return _item(name, Level.OK if can_write else Level.MISSING, found, fix)


def _of_queue(runs_root: Path) -> Iterator[PreflightItem]:
    ahead = len(queue.live_run_ids(runs_root.resolve()))
    yield _item(
        "queue",
        Level.WARNING if ahead else Level.OK,
        f"{ahead} {'run' if ahead == 1 else 'runs'} ahead" if ahead else "empty",
        "it waits for its turn: one run at a time keeps timings clean",
    )


def _of_machine(runs_root: Path) -> Iterator[PreflightItem]:
    for item in examine(runs_root):
        if item.is_optional and not item.is_ok:
            continue  # what no run needs
        level = Level.OK if item.is_ok else Level.MISSING
        yield _item(item.name, level, item.found, item.fix)


def available_bytes(meminfo: Path = _MEMINFO) -> int | None:
    """Memory that new processes may take; None where the kernel does not say."""
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _item(name: str, level: Level, found: str, fix: str) -> PreflightItem:
    return PreflightItem(
        name=name, level=level, found=found, fix="" if level is Level.OK else fix
    )
