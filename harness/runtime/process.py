"""Runs ranks as processes of this machine, forked from one zygote (DESIGN sec. 3).

    prepare() --exec or warm--> zygote (imports torch) --fork--> rank 0..N-1
              <--------- socket: ready, started, exited

`prepare` returns at once, so that the caller imports its own things meanwhile. Needs
only the standard library: it is the first thing that a run does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.errors import InfrastructureError
from harness.processes import MARK, ROOT_MARK, end
from harness.runtime.base import ExecResult, News, RankExit, RankStarted, RuntimeLost
from harness.runtime.warm import ONE_THREAD, adopt

WORKLOAD = "harness.workloads.train"


class ZygoteProcess(Protocol):
    """The zygote as its run sees it: a child, or forked by a warm process."""

    pid: int

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code, None where unknown; `TimeoutExpired` while it lives."""

    def kill(self) -> None:
        """End it at once."""


@dataclass(slots=True)
class _Rank:
    pid: int
    pidfd: int  # signals through it reach this process or nobody
    is_over: bool = False


def prepare(
    run_path: str, run_id: str, *, workload: str = WORKLOAD, attempt: int = 1
) -> ProcessRuntime:
    """Start the zygote of a run; it warms up while the caller goes on.

    Args:
        workload: module with `warm_up()` and `main(spec) -> exit code`.
        attempt: which start of the job this is; told to its ranks.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {
        **os.environ, **ONE_THREAD, "GLOO_SOCKET_IFNAME": "lo", MARK: run_id,
        ROOT_MARK: os.path.dirname(run_path),
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    log_path = os.path.join(run_path, "logs", "zygote.log")
    argv = (run_path, workload, str(attempt))
    with theirs:
        zygote: ZygoteProcess | None = adopt(
            theirs, argv=argv, environment=environment, log_path=log_path
        )
        if zygote is None:
            with open(log_path, "ab") as log:
                zygote = subprocess.Popen(
                    [sys.executable, "-m", "harness.runtime.zygote",
                     str(theirs.fileno()), str(os.getpid()), *argv],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=environment, pass_fds=(theirs.fileno(),),
                )  # fmt: skip
    return ProcessRuntime(ours, zygote, environment, run_path, run_id)


class ProcessRuntime:
    """The `Runtime` whose ranks are local processes; made by `prepare`."""

    def __init__(
        self,
        control: socket.socket,
        zygote: ZygoteProcess,
        environment: dict[str, str],
        run_path: str,
        run_id: str,
    ) -> None:
        self._control = control
        self._zygote = zygote
        self._environment = environment
        self._run_path = run_path
        self._run_id = run_id
        self._num_ranks = 0
        self._ranks: dict[int, _Rank] = {}
        self._is_over = False

    @property
    def zygote_pid(self) -> int:
        """The zygote's process."""
        return self._zygote.pid

    def start(self, num_ranks: int) -> None:
        """Ask the zygote to fork all ranks."""
        if self._num_ranks or self._is_over:
            raise InfrastructureError("the runtime is already started, stopped or lost")
        self._num_ranks = num_ranks
        try:
            self._control.send(json.dumps({"start": num_ranks}).encode())
        except OSError as error:
            raise InfrastructureError(f"zygote is gone: {error}") from None

    def poll(self, timeout_s: float) -> tuple[News, ...]:
        """Read what the zygote reports."""
        if self._is_over:
            time.sleep(timeout_s)
            return ()
        news: list[News] = []
        wait_s = timeout_s
        while not self._is_over and select.select([self._control], [], [], wait_s)[0]:
            news.extend(self._receive())
            wait_s = 0.0
        return tuple(news)

    def exec(self, rank: int, argv: Sequence[str], timeout_s: float) -> ExecResult:
        """Run a command on this machine, in the run's folder."""
        self._check(rank)
        try:
            done = subprocess.run(
                list(argv), env=self._environment, cwd=self._run_path, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=timeout_s, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InfrastructureError(f"cannot run {argv[0]!r}: {error}") from None
        return ExecResult(exit_code=done.returncode, output=done.stdout)

    def signal(self, rank: int, number: int) -> bool:
        """Send a signal to the very process that was started as `rank`."""
        self._check(rank)
        target = self._ranks.get(rank)
        if target is None or target.is_over:
            return False
        try:
            signal.pidfd_send_signal(target.pidfd, number)
        except ProcessLookupError:
            return False
        return True

    def stop(self, grace_s: float) -> tuple[News, ...]:
        """Ask, then force the ranks to end; then the zygote, then what they left."""
        news: list[News] = []
        for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
            for rank in self._living():
                self.signal(rank, number)
                self.signal(rank, signal.SIGCONT)  # a stopped process takes no SIGTERM
            deadline = time.monotonic() + wait_s
            while self._living() and time.monotonic() < deadline:
                news.extend(self.poll(0.05))
        self._is_over = True
        self._control.close()
        try:
            self._zygote.wait(timeout=1.0)  # it ends when the socket closes
        except subprocess.TimeoutExpired:
            self._zygote.kill()
            self._zygote.wait()
        end(self._run_id)  # observers and whatever else a rank has started
        for target in self._ranks.values():
            if target.pidfd >= 0:
                os.close(target.pidfd)
                target.pidfd = -1
        return (*news, *self._give_up_living())

    def _receive(self) -> list[News]:
        try:
            packet = self._control.recv(65536)
        except OSError:
            packet = b""
        if not packet:
            return self._lose()
        message = json.loads(packet)
        if "started" in message:
            rank, pid = message["started"], message["pid"]
            try:
                pidfd = os.pidfd_open(pid)
            except ProcessLookupError:  # so short-lived that its exit is on its way
                pidfd = -1
            self._ranks[rank] = _Rank(pid, pidfd, is_over=pidfd < 0)
            return [RankStarted(rank=rank, pid=pid)]
        if "exited" in message:
            rank = message["exited"]
            self._ranks[rank].is_over = True
            return [
                RankExit(rank=rank, pid=message["pid"], exit_code=message["exit_code"],
                         signal=message["signal"])
            ]  # fmt: skip
        return []

    def _lose(self) -> list[News]:
        self._is_over = True
        try:
            code: int | None = self._zygote.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            code = None
        how = "" if code is None else f" with {code}"
        reason = f"zygote ended{how}; see logs/zygote.log"
        return [*self._give_up_living(), RuntimeLost(reason=reason)]

    def _give_up_living(self) -> list[News]:
        news: list[News] = []
        for rank in self._living():
            self._ranks[rank].is_over = True
            news.append(RankExit(rank=rank, pid=self._ranks[rank].pid,
                                 exit_code=None, signal=None))  # fmt: skip
        return news

    def _living(self) -> list[int]:
        return [rank for rank, target in self._ranks.items() if not target.is_over]

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self._num_ranks:
            raise ValueError(f"rank {rank} unknown; allowed: 0..{self._num_ranks - 1}")
