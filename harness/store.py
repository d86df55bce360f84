"""Run directories: written in three atomic phases, readable at any moment (DESIGN 4).

    runs/<id>/
      scenario.yaml   meta.json     phase 1 start     what runs, and how to repeat it
      events/*.jsonl                one writer each    while it runs
      logs/  evidence/              output of ranks, larger evidence
      ended.json                    phase 2 after run  how the processes ended
      results.json                  phase 3 after check  outcome, expected beside found
      report.*                      exports

Each phase file is written to a temporary name, fsynced, then renamed. A run without
`ended.json` whose process is gone was killed; it is still readable, and `closing`
writes what is missing.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from harness import bounded_json
from harness.errors import UnknownRun
from harness.events import EventReader
from harness.results import Results
from harness.scenario import Scenario, load, to_yaml
from vocab.codec import from_json, to_json
from vocab.errors import DecodeError

T = TypeVar("T")

RUN = "run"
ANALYSIS = "analysis"
"""Evidence that was brought along: nothing was launched, expected or judged."""

_RUN_ID = re.compile(r"^[0-9]{8}-[0-9]{6}-[a-z0-9.-]{1,60}-[0-9a-f]{4}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Phase 1: what is known before anything runs."""

    run_id: str
    scenario_name: str
    title: str
    seed: int
    num_ranks: int
    num_steps: int
    created_wall_ns: int
    command: str  # repeats this run
    commit: str
    dirty: bool
    versions: dict[str, str] = field(default_factory=dict)
    host: str = ""
    kind: str = RUN  # or ANALYSIS
    workload: str = "train"  # module of `harness.workloads` that its ranks run
    format: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Phase 2: the processes are gone."""

    reason: str  # that of `ending.Ending`; analysed; killed
    detail: str
    wall_s: float | None  # None: unknown, it was killed before its first event
    first_step_s: float | None  # None: no step was reached

    def __post_init__(self) -> None:
        bounded_json.hold_finite("wall_s", self.wall_s)
        bounded_json.hold_finite("first_step_s", self.first_step_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDirectory:
    """One run's folder. Everything read from it may be missing or torn."""

    path: Path

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def events(self) -> Path:
        """Folder of event files."""
        return self.path / "events"

    @property
    def logs(self) -> Path:
        """Folder of the ranks' output."""
        return self.path / "logs"

    @property
    def control(self) -> Path:
        """Folder of the running harness's own files: pid, cancel request, rings."""
        return self.path / "control"

    def reader(self) -> EventReader:
        """A reader of all its event files."""
        return EventReader(self.events)

    def scenario(self) -> Scenario:
        """The scenario as it was launched.

        Raises:
            ScenarioError: the file is missing or damaged.
        """
        return load(self.path / "scenario.yaml")

    def meta(self) -> Meta | None:
        """Phase 1, or None where it was never finished or is damaged."""
        return _read(self.path / "meta.json", Meta)

    def ended(self) -> Ended | None:
        """Phase 2, or None: still running, or killed."""
        return _read(self.path / "ended.json", Ended)

    def results(self) -> Results | None:
        """Phase 3, or None: not checked yet, or killed before."""
        return _read(self.path / "results.json", Results)

    def write_results(self, results: Results) -> None:
        """Write phase 3 atomically."""
        write_atomically(self.path / "results.json", _dump(results))

    def write_ended(self, ended: Ended) -> None:
        """Write phase 2 atomically."""
        write_atomically(self.path / "ended.json", _dump(ended))


class Store:
    """All runs of one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, scenario: Scenario | None, meta: Meta) -> RunDirectory:
        """Make a run's folder with phase 1 in it; it appears whole or not at all.

        Only an analysis has no scenario.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        final = self.root / meta.run_id
        draft = self.root / f".draft-{meta.run_id}"
        for name in ("events", "logs", "control", "evidence"):
            (draft / name).mkdir(parents=True)
        if scenario is not None:
            write_atomically(draft / "scenario.yaml", to_yaml(scenario))
        write_atomically(draft / "meta.json", _dump(meta))
        os.rename(draft, final)
        return RunDirectory(path=final)

    def open(self, run_id: str) -> RunDirectory:
        """The run of that id.

        Raises:
            UnknownRun: no such run, or not a run id at all.
        """
        path = self.root / run_id
        if not is_run_id(run_id) or not path.is_dir():
            raise UnknownRun(f"no run {run_id!r} in {self.root}; see `faultyard list`")
        return RunDirectory(path=path)

    def runs(self) -> list[RunDirectory]:
        """Every run, newest first."""
        if not self.root.is_dir():
            return []
        names = sorted((p.name for p in self.root.iterdir()), reverse=True)
        return [
            RunDirectory(path=self.root / name) for name in names if is_run_id(name)
        ]


def new_run_id(scenario_name: str) -> str:
    """A fresh id that sorts by time: `20261130-221500-sdc-parameter-1f3a`."""
    slug = re.sub(r"[^a-z0-9.]+", "-", scenario_name.lower()).strip("-.")[:60] or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-{slug}-{secrets.token_hex(2)}"


def is_run_id(name: str) -> bool:
    """Whether `name` can be the id of a run; nothing else is ever opened."""
    return _RUN_ID.match(name) is not None


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader or a crash sees the old or the new, whole."""
    replace_file(path, text.encode())


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a reader or a crash sees the old or the new one, whole."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _dump(value: object) -> str:
    return json.dumps(to_json(value), indent=2, allow_nan=False) + "\n"


def _read(path: Path, cls: type[T]) -> T | None:
    try:
        return from_json(cls, bounded_json.loads(path.read_bytes()))
    except (OSError, ValueError, DecodeError):
        return None
