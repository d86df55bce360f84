"""A workload without torch, for tests of the runtime: does what `standin.json` says.

The run folder's `standin.json` maps ranks to an exit code, to "wait" (until it is
ended), "raise", "deaf" (waits and ignores SIGTERM) or "child" (leaves a child behind).
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from harness.runtime.base import RankSpec


def warm_up() -> None:
    """Nothing to compile."""


def main(spec: RankSpec) -> int:
    """Behave as told; exits 0 where nothing is said."""
    print(f"hello from rank {spec.rank} of {spec.world_size}", flush=True)
    path = Path(spec.run_path) / "standin.json"
    wanted = json.loads(path.read_text()) if path.exists() else {}
    what = wanted.get(str(spec.rank), 0)
    if isinstance(what, int):
        return what
    if what == "raise":
        raise RuntimeError("as told")
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("deaf", flush=True)
    if what == "child":
        subprocess.Popen(["sleep", "600"])
        return 0
    time.sleep(600)
    return 0
