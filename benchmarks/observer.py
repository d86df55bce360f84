"""How fast an observer is up and how small it is (SCOUT sec. 7; issue 3).

Run by `registry`. Baseline of both: a Python that imports torch, which is what the
observers of the authors' package do (FACTS).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.claim import Claim, compared
from scout.config import ScoutConfig
from scout.observer_process import ObserverHandle
from scout.process_stat import read_stat
from scout.progress import ProgressRing

START_GOAL_S = 0.5
MEMORY_GOAL_MB = 30.0

_IMPORTS_TORCH = (
    "import torch, pathlib; print(pathlib.Path('/proc/self/statm').read_text())"
)


def claims(rounds: int = 5) -> Iterator[Claim]:
    """The claims of issue 3 on the observer process."""
    start_s, memory_mb = _observer(rounds)
    torch_s, torch_mb = _torch()
    yield compared(
        name="observer: time until it listens, against the goal of 0.5 s",
        value=start_s,
        unit="s",
        baseline=START_GOAL_S,
        note=f"median of {rounds}; baseline: the goal",
        at_most=1,
    )
    yield compared(
        name="observer: resident memory, against the goal of 30 MB",
        value=memory_mb,
        unit="MB",
        baseline=MEMORY_GOAL_MB,
        note="baseline: the goal",
        at_most=1,
    )
    yield compared(
        name="observer: time until it listens",
        value=start_s,
        unit="s",
        baseline=torch_s,
        note="baseline: a Python that imports torch",
    )
    yield compared(
        name="observer: resident memory",
        value=memory_mb,
        unit="MB",
        baseline=torch_mb,
        note="baseline: a Python that imports torch",
    )


def _observer(rounds: int) -> tuple[float, float]:
    times: list[float] = []
    memory_mb = 0.0
    with tempfile.TemporaryDirectory() as folder:
        ring = ProgressRing.create(Path(folder) / "ring", rank=0)
        for _ in range(rounds):
            begin = time.perf_counter()
            handle = ObserverHandle.start(
                rank=0,
                group_ranks=(0,),
                ring_path=ring.path,
                config=ScoutConfig(),
                journal_dir=Path(folder),
                env_tags={},
            )
            times.append(time.perf_counter() - begin)
            assert handle.pid is not None
            _let_settle(handle.pid)
            memory_mb = max(memory_mb, _resident_mb(_statm(handle.pid)))
            handle.stop(wait_s=5.0)
        ring.close()
    return sorted(times)[rounds // 2], memory_mb


def _torch() -> tuple[float, float]:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS_TORCH],
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - begin, _resident_mb(done.stdout)


def _let_settle(pid: int) -> None:
    """Until it sleeps in its loop: then everything that it needs is loaded."""
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        stat = read_stat(pid)
        if stat is not None and stat.state == "S":
            return
        time.sleep(0.01)


def _statm(pid: int) -> str:
    return Path(f"/proc/{pid}/statm").read_text()


def _resident_mb(statm: str) -> float:
    import resource

    return int(statm.split()[1]) * resource.getpagesize() / 1e6
