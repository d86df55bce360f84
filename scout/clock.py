"""How long a call took, and how much of that was somebody else's fault.

charged = wall - (run-queue wait - throttled), at least on-CPU: on-CPU, blocked and
throttled time. Contention by other processes shows as run-queue wait and is not
charged; a sleeping, stopped, throttled or slow rank is (FACTS "CPU contention against a
real straggler").
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from scout.throttled import throttled_s

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
    throttled_s: float = 0.0  # the part of run_wait_s that its own CPU quota made

    @property
    def charged_s(self) -> float:
        """What counts against the rank: on-CPU, blocked and throttled time."""
        return charged(self.wall_s, self.on_cpu_s, self.run_wait_s, self.throttled_s)

    def __add__(self, other: Timing) -> Timing:
        return Timing(
            wall_s=self.wall_s + other.wall_s,
            on_cpu_s=self.on_cpu_s + other.on_cpu_s,
            run_wait_s=self.run_wait_s + other.run_wait_s,
            throttled_s=self.throttled_s + other.throttled_s,
        )


def charged(
    wall_s: float, on_cpu_s: float, run_wait_s: float, throttled_s: float = 0.0
) -> float:
    """Seconds that count against a rank; the kernel's two clocks differ by a tick."""
    return max(on_cpu_s, wall_s - max(0.0, run_wait_s - throttled_s))


class Stopwatch:
    """Times the calling thread from its making on, work on the CPU only."""

    def __init__(self) -> None:
        self._throttled_s = throttled_s()
        self._wait_s = _run_wait_s()
        self._cpu_s = time.thread_time()
        self._wall_s = time.perf_counter()

    def read(self) -> Timing:
        """What has passed."""
        wall = time.perf_counter() - self._wall_s
        cpu = time.thread_time() - self._cpu_s
        wait = _run_wait_s() - self._wait_s
        # A cgroup counts all its processes, and one may be moved between the readings.
        throttled = min(max(throttled_s() - self._throttled_s, 0.0), wait)
        return Timing(wall_s=wall, on_cpu_s=cpu, run_wait_s=wait, throttled_s=throttled)


def timed(call: Callable[[], T], device: torch.device) -> tuple[T, Timing]:
    """Run `call` and time it, including work that it queued on an accelerator."""
    _synchronize(device)
    watch = Stopwatch()
    result = call()
    _synchronize(device)
    return result, watch.read()


class _SchedStat(threading.local):
    """The open schedstat of each thread."""

    pid = -1  # a forked child's thread must open its own
    descriptor = -1


_schedstat = _SchedStat()


def _run_wait_s() -> float:
    """Seconds this thread has waited for a CPU; 0 where the kernel does not count."""
    try:
        if _schedstat.pid != os.getpid():
            _schedstat.descriptor = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
            _schedstat.pid = os.getpid()
        return int(os.pread(_schedstat.descriptor, 128, 0).split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
