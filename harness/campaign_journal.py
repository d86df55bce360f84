"""What a campaign has done so far, on disk; whole after a kill at any moment.

    OUT/plan.json      what is being run (digest), written once
    OUT/cases.jsonl    one line per finished case, appended in one write and synced
    OUT/current*.json  the runs that are going on: a resumed campaign takes them over
    OUT/runs/          the runs themselves

Called by `harness.campaign_run` and whoever shows a campaign. One campaign at a time
holds the folder (flock). A line torn by a kill or a full disk is no finished case.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.case_measures import Measures
from harness.errors import UsageError
from harness.results import Outcome
from harness.store import write_atomically
from vocab.codec import from_json, to_json
from vocab.errors import DecodeError

MAX_SLOTS = 1024
_CURRENT = "current{}.json"

NOT_MEASURED = (Outcome.INFRASTRUCTURE, Outcome.CANCELLED)
"""Outcomes that say nothing about the detectors: a resumed campaign runs them again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One finished case; latencies are seconds from injection to verdict."""

    case_id: str
    part: str
    kinds: str
    scenario_name: str
    seed: int
    run_id: str
    outcome: Outcome
    reason: str
    num_expected: int  # incidents
    num_found: int  # of them, exactly
    num_false_blames: int  # verdicts that name somebody whom nobody expected
    latencies_s: tuple[float, ...]
    wall_s: float | None
    measures: Measures | None = None  # None: it left no events


class Journal:
    """The files of one campaign's folder; close it to let another campaign in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock_fd = -1
        self._cases_fd = -1

    @property
    def runs(self) -> Path:
        """Folder of its run directories."""
        return self._folder / "runs"

    def open(self, digest: str, *, resume: bool) -> dict[str, CaseResult]:
        """Take the folder; returns what is finished, by case id.

        Raises:
            UsageError: another campaign is in it, or it may not go on here.
            OSError: the folder cannot be written.
        """
        self.runs.mkdir(parents=True, exist_ok=True)
        self._lock_fd = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{self._folder}: another campaign is running here"
            ) from None
        finished = self.finished()
        self._check(digest, resume=resume, number=len(finished))
        self._cases_fd = os.open(
            self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
        size = os.fstat(self._cases_fd).st_size
        if size and os.pread(self._cases_fd, 1, size - 1) != b"\n":
            os.write(self._cases_fd, b"\n")  # ends a torn line, which is no case
        return finished

    def finished(self) -> dict[str, CaseResult]:
        """Finished cases by id, the last line of each."""
        if not self._path.exists():
            return {}
        found: dict[str, CaseResult] = {}
        for line in self._path.read_bytes().split(b"\n"):
            try:
                result = from_json(CaseResult, json.loads(line))
            except (ValueError, DecodeError, RecursionError):
                continue
            found[result.case_id] = result
        return found

    def append(self, result: CaseResult) -> None:
        """Keep one finished case for good."""
        line = json.dumps(to_json(result), allow_nan=False, separators=(",", ":"))
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(self._cases_fd, data) :]
        os.fsync(self._cases_fd)

    def slot(self, number: int) -> Path:
        """Folder in which the runs of one slot of the worker pool go on."""
        return self.runs if number == 0 else self.runs / f".slot{number}"

    def note_current(self, case_id: str, run_id: str, slot: int = 0) -> None:
        """Remember which run is going on in a slot."""
        data = {"case_id": case_id, "run_id": run_id, "slot": slot}
        name = _CURRENT.format(f"-{slot}" if slot else "")
        write_atomically(self._folder / name, json.dumps(data) + "\n")

    def current(self) -> list[tuple[str, str, int]]:
        """(case id, run id, slot) of what was going on last; unreadable ones: none."""
        found = []
        for path in sorted(self._folder.glob(_CURRENT.format("*"))):
            data = self._read(path.name)
            case_id, run_id = data.get("case_id"), data.get("run_id")
            slot = data.get("slot", 0)
            if isinstance(case_id, str) and isinstance(run_id, str) and slot in range(
                MAX_SLOTS
            ):  # fmt: skip
                found.append((case_id, run_id, slot))
        return found

    def close(self) -> None:
        """Let go of the folder."""
        for fd in (self._cases_fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._cases_fd = self._lock_fd = -1

    @property
    def _path(self) -> Path:
        return self._folder / "cases.jsonl"

    def _check(self, digest: str, *, resume: bool, number: int) -> None:
        planned = self._read("plan.json").get("digest")
        if planned is None:
            write_atomically(
                self._folder / "plan.json", json.dumps({"digest": digest}) + "\n"
            )
        elif not resume:
            raise UsageError(
                f"{self._folder} holds {number} finished cases; allowed: --resume, or "
                "another --out"
            )
        elif planned != digest:
            raise UsageError(
                f"{self._folder} holds cases of another campaign (plan {planned}, this "
                f"is {digest}): it or one of its scenarios was changed; allowed: "
                "another --out"
            )

    def _read(self, name: str) -> dict[str, Any]:
        try:
            data = json.loads((self._folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}
