"""Qualifications of one folder, as the dashboard starts, shows and ends them.

    qualifications/NAME/    what `faultyard qualify` keeps, with a log and a pid file

Starting is starting that command as a process of its own: it goes on when the server
ends, and the command line can resume what the page began. Called by the dashboard.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness import suite_record
from harness.campaign import plan, suites
from harness.campaign_journal import Journal
from harness.errors import UsageError
from harness.qualification import Qualification
from harness.qualify_run import load
from harness.store import write_atomically

PROCESS = "process.json"
LOG = "qualify.log"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite that ships."""

    name: str
    title: str
    description: str
    num_cases: int


class QualificationFolder:
    """Everything below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Qualifications that were begun, newest first."""
        if not self.root.is_dir():
            return []
        found = [path for path in self.root.iterdir() if _is_one(path)]
        return [path.name for path in sorted(found, key=_age, reverse=True)]

    def report(self, name: str) -> Qualification:
        """As it stands.

        Raises:
            UsageError: there is no such qualification.
        """
        return load(self.path(name))

    def running(self, name: str) -> tuple[str, ...]:
        """Ids of the cases that go on now."""
        if not self.is_live(name):
            return ()
        done = Journal(self.path(name)).finished()
        going = Journal(self.path(name)).current()
        return tuple(case_id for case_id, _, _ in going if case_id not in done)

    def is_live(self, name: str) -> bool:
        """Whether a command works on it."""
        self._reap(name)
        try:
            with (self.path(name) / ".lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def start(self, suite: str) -> str:
        """Begin or resume the suite of that name; returns the qualification's name.

        Raises:
            UsageError: no such suite, or it goes on already.
        """
        known = suites()
        if suite not in known:
            raise UsageError(f"suite is {suite!r}; allowed: {', '.join(known)}")
        plan(known[suite], to_qualify=True)  # says what is wrong before anything starts
        if self.is_live(suite):
            raise UsageError(f"{suite} goes on already")
        folder = self.path(suite)
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "harness", "qualify", suite, "--out",
                   str(folder), "--resume"]  # fmt: skip
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd=folder,
            )  # fmt: skip
        write_atomically(folder / PROCESS, json.dumps({"pid": process.pid}) + "\n")
        # It outlives us on purpose; where it does not, `is_live` reaps it.
        process.returncode = 0
        return suite

    def cancel(self, name: str) -> bool:
        """End its command; what is finished stays. False where none is there.

        Nothing is lost by it: the run that goes on is taken over when it is resumed.
        """
        pid = self._pid(name)
        if pid is None:
            return False
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        if b"qualify" not in words or str(self.path(name)).encode() not in words:
            return False  # the number has a new owner
        os.kill(pid, signal.SIGTERM)  # SIGINT is ignored in background jobs
        return True

    def _reap(self, name: str) -> None:
        """Take note of the end of a command that we have started."""
        pid = self._pid(name)
        if pid is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _pid(self, name: str) -> int | None:
        try:
            return int(json.loads((self.path(name) / PROCESS).read_text())["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def path(self, name: str) -> Path:
        """Its folder.

        Raises:
            UsageError: that is no name of one.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(f"no qualification {name[:80]!r}")
        return self.root / name


def shipped() -> list[Suite]:
    """Suites that can be qualified: those with controls and criteria."""
    found = []
    for name, path in suites().items():
        planned = plan(path)
        if planned.campaign.controls and planned.campaign.criteria is not None:
            found.append(
                Suite(
                    name=name,
                    title=planned.campaign.title,
                    description=planned.campaign.description,
                    num_cases=len(planned.cases),
                )
            )
    return found


def _is_one(path: Path) -> bool:
    is_named = _NAME.fullmatch(path.name) is not None
    return is_named and (path / suite_record.FILE).is_file()


def _age(path: Path) -> float:
    return path.stat().st_mtime
