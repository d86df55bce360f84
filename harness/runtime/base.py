"""What starts, watches and stops the ranks of one run: an interface of five methods.

    harness.run --start--> Runtime --RankSpec--> rank 0, rank 1, ...
                <--poll---         RankStarted, RankExit, RuntimeLost

`process` forks ranks on this machine; `NoopRuntime` has no processes at all. A runtime
never reads events and never judges: it reports who lives and who ended how.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.errors import InfrastructureError


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSpec:
    """All that a rank is told; the rest it reads from scenario.yaml in `run_path`.

    `store_fd` is the listening socket of the rendezvous store, already bound to
    `store_host:store_port`, in rank 0; None elsewhere.
    """

    rank: int
    world_size: int
    run_path: str
    store_host: str
    store_port: int
    store_fd: int | None
    attempt: int = 1  # which start of the job this is
    interface: str = "lo"  # over which collectives go
    management_host: str = "127.0.0.1"  # where its observer listens
    is_in_container: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStarted:
    """A rank's process exists; `pid` is that on this machine."""

    rank: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExit:
    """A rank's process is gone: exit code or signal, both None where unknown."""

    rank: int
    pid: int
    exit_code: int | None
    signal: int | None
    why: str = ""  # what ended it, where the runtime knows more than that

    @property
    def is_clean(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeLost:
    """The runtime itself broke; ranks that lived then are reported with it."""

    reason: str


News = RankStarted | RankExit | RuntimeLost


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """How a command ended; `output` is its standard output and error together."""

    exit_code: int
    output: str


class Runtime(Protocol):
    """The life of one run's ranks; only `signal` may be called from further threads."""

    def start(self, num_ranks: int) -> None:
        """Start all ranks, once; `poll` reports each.

        Raises:
            InfrastructureError: the runtime is already started, stopped or lost.
        """

    def poll(self, timeout_s: float) -> tuple[News, ...]:
        """What happened since the last call; waits at most `timeout_s` for some."""

    def exec(self, rank: int, argv: Sequence[str], timeout_s: float) -> ExecResult:
        """Run a command where `rank` lives, with the run's environment.

        Raises:
            ValueError: no such rank.
            InfrastructureError: it cannot be started, or takes longer.
        """

    def signal(self, rank: int, number: int) -> bool:
        """Send a signal to a rank; False where its process is gone already.

        Raises:
            ValueError: no such rank.
        """

    def stop(self, grace_s: float) -> tuple[News, ...]:
        """End whatever runs, by force after `grace_s`; a second call does nothing.

        Returns the exits that `poll` has not reported yet.
        """


class NoopRuntime:
    """Ranks without processes: each ends cleanly at the poll after its start."""

    def __init__(self) -> None:
        self._num_ranks = 0
        self._running: list[int] = []
        self._news: list[News] = []
        self._is_over = False

    def start(self, num_ranks: int) -> None:
        """Note that the ranks exist."""
        if self._num_ranks or self._is_over:
            raise InfrastructureError("the runtime is already started or stopped")
        self._num_ranks = num_ranks
        self._running = list(range(num_ranks))
        self._news = [RankStarted(rank=rank, pid=0) for rank in self._running]

    def poll(self, timeout_s: float) -> tuple[News, ...]:
        """First the starts, then the exits."""
        if not self._news and not self._running:
            time.sleep(timeout_s)
        news, self._news = tuple(self._news), []
        if news or not self._running:
            return news
        return self._end_all()

    def exec(self, rank: int, argv: Sequence[str], timeout_s: float) -> ExecResult:
        """Run nothing."""
        self._check(rank)
        return ExecResult(exit_code=0, output="")

    def signal(self, rank: int, number: int) -> bool:
        """Reach nobody; True while the rank counts as running."""
        self._check(rank)
        return rank in self._running

    def stop(self, grace_s: float) -> tuple[News, ...]:
        """End the ranks that still count as running."""
        self._is_over = True
        news, self._news = tuple(self._news), []
        return (*news, *self._end_all())

    def _end_all(self) -> tuple[News, ...]:
        ended = tuple(
            RankExit(rank=rank, pid=0, exit_code=0, signal=None)
            for rank in self._running
        )
        self._running = []
        return ended

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self._num_ranks:
            raise ValueError(f"rank {rank} unknown; allowed: 0..{self._num_ranks - 1}")
