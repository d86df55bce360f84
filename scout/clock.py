"""How long a call took, and how much of that was somebody else's fault.

charged = wall - run-queue wait, at least on-CPU: on-CPU and blocked time. Contention
by other processes shows as run-queue wait and is not charged; a sleeping, stopped or
slow rank is (FACTS "CPU contention against a real straggler").
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

_SCHEDSTAT = "/proc/thread-self/schedstat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One timed call of the calling thread, in seconds."""

    wall_s: float
    on_cpu_s: float
    run_wait_s: float

    @property
    def charged_s(self) -> float:
        """What counts against the rank: on-CPU plus blocked time."""
        return charged(self.wall_s, self.on_cpu_s, self.run_wait_s)


def charged(wall_s: float, on_cpu_s: float, run_wait_s: float) -> float:
    """Seconds that count against a rank; the kernel's two clocks differ by a tick."""
    return max(on_cpu_s, wall_s - run_wait_s)


class Stopwatch:
    """Times the calling thread from its making on, work on the CPU only."""

    def __init__(self) -> None:
        self._wait_s = _run_wait_s()
        self._cpu_s = time.thread_time()
        self._wall_s = time.perf_counter()

    def read(self) -> Timing:
        """What has passed."""
        wall = time.perf_counter() - self._wall_s
        return Timing(
            wall_s=wall,
            on_cpu_s=time.thread_time() - self._cpu_s,
            run_wait_s=_run_wait_s() - self._wait_s,
        )


def timed(call: Callable[[], T], device: torch.device) -> tuple[T, Timing]:
    """Run `call` and time it, including work that it queued on an accelerator."""
    _synchronize(device)
    watch = Stopwatch()
    result = call()
    _synchronize(device)
    return result, watch.read()


def _run_wait_s() -> float:
    """Seconds this thread has waited for a CPU; 0 where the kernel does not count."""
    try:
        with open(_SCHEDSTAT, "rb", buffering=0) as file:
            return int(file.read(128).split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
