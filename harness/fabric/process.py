"""The harness's handle on the fabric process: start, notice its end, stop.

Called by `run` and `watch`. The process bears the run's mark, so that a sweep finds it
after a kill, and it dies with the run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from harness.processes import MARK, ROOT_MARK
from harness.runtime.warm import ONE_THREAD

LOG = "fabric.log"


class FabricProcess:
    """One run's fabric; made by `start`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def start(cls, run_path: Path) -> FabricProcess:
        """Start it; ranks wait until it listens."""
        environment = {
            **os.environ, **ONE_THREAD, MARK: run_path.name,
            ROOT_MARK: str(run_path.parent), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        with (run_path / "logs" / LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.fabric.simulated", str(run_path),
                 str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            )  # fmt: skip
        return cls(process)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def problem(self) -> str | None:
        """How it broke; None: it works, or has ended in order."""
        code = self._process.poll()
        if code in (None, 0):
            return None
        return f"the fabric ended with {code}; see logs/{LOG}"

    def stop(self, grace_s: float) -> int | None:
        """Let it tell what is open, then end it; its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=0.05)
        self._process.send_signal(signal.SIGCONT)  # a stopped one takes no SIGTERM
        self._process.terminate()
        try:
            return self._process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
