"""Runs ranks in containers, one a host, several ranks each (DESIGN sec. 2.6, 3).

    prepare() ─► containers (`container_hosts`), each with a warm parent (`host`)
    start()   ─► host0 binds the rendezvous store and forks, then all others fork

    data network         collectives of the job
    management network   observers: what watches must not hang on what is watched

Containers share this machine's process ids: signals, exits and marks work as for
`process`. A container that ends takes its ranks along, and says why; a daemon that no
longer answers ends the run.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import images
from harness.errors import InfrastructureError
from harness.processes import end
from harness.runtime.base import ExecResult, News, RankExit, RankStarted, RuntimeLost
from harness.runtime.container_hosts import (
    STORE_PORT,
    HostLink,
    Recipe,
    make_hosts,
    remove,
    user,
)
from harness.runtime.docker_engine import DockerEngine
from harness.scenario import Hosts

READY_S = 90.0
PING_S = 2.0


@dataclass(slots=True)
class _Rank:
    pid: int
    pidfd: int
    is_over: bool = False


def prepare(
    run_path: str, run_id: str, *, workload: str, num_ranks: int, hosts: Hosts,
    attempt: int = 1,
) -> DockerRuntime:  # fmt: skip
    """Make the hosts of a run; they warm up while the caller goes on.

    Raises:
        InfrastructureError: no daemon, no image, or a container cannot be made.
    """
    made = images.client(hosts.context)
    if not images.is_there(made):
        made.close()
        raise InfrastructureError(
            f"image {images.tag()} is not there; make it with `faultyard images build`"
        )
    recipe = Recipe(
        run_path=Path(run_path), run_id=run_id, workload=workload, attempt=attempt,
        num_ranks=num_ranks, settings=hosts,
    )  # fmt: skip
    try:
        links = make_hosts(made, recipe)
    except BaseException:
        remove(made, run_id)
        recipe.forget()
        made.close()
        raise
    return DockerRuntime(made, recipe, links)


class DockerRuntime:
    """The `Runtime` whose hosts are containers; made by `prepare`."""

    def __init__(self, made: Any, recipe: Recipe, links: list[HostLink]) -> None:
        self._client = made
        self._recipe = recipe
        self._run_path = recipe.run_path
        self._run_id = recipe.run_id
        self._num_ranks = 0
        self._links = links
        self._ranks: dict[int, _Rank] = {}
        self._kept: list[News] = []
        self._is_started = False
        self._is_over = False
        self._next_ping_s = time.monotonic() + PING_S

    @property
    def zygote_pid(self) -> int:
        """Process of the first host; 0 where there is none."""
        return int(self._links[0].host.container.attrs["State"].get("Pid", 0))

    @property
    def engine(self) -> DockerEngine:
        """The hosts, for faults of hosts."""
        return DockerEngine([link.host for link in self._links])

    def start(self, num_ranks: int) -> None:
        """Have every host fork its ranks, once all are warm."""
        if self._is_started or self._is_over:
            raise InfrastructureError("the runtime is already started, stopped or lost")
        if num_ranks > self._recipe.num_ranks:
            raise InfrastructureError(
                f"hosts were made for {self._recipe.num_ranks} ranks, not {num_ranks}"
            )
        self._is_started = True
        self._num_ranks = num_ranks
        self._await_ready()
        first, *others = self._links
        self._send_start(first, is_store_here=True)
        deadline = time.monotonic() + READY_S
        while not self._ranks and not first.is_lost:  # its store is bound by then
            self._kept += self._receive(0.1)
            if time.monotonic() > deadline:
                raise InfrastructureError(f"{first.host.name} starts no rank")
        for link in others:
            self._send_start(link, is_store_here=False)

    def poll(self, timeout_s: float) -> tuple[News, ...]:
        """Read what the hosts report, and ask the daemon now and then."""
        news, self._kept = self._kept, []
        if self._is_over:
            if not news:
                time.sleep(timeout_s)
            return tuple(news)
        news += self._receive(0.0 if news else timeout_s)
        if time.monotonic() >= self._next_ping_s:
            news += self._ping()
        return tuple(news)

    def exec(self, rank: int, argv: Sequence[str], timeout_s: float) -> ExecResult:
        """Run a command in the rank's container, in the run's folder."""
        self._check(rank)
        container = self._link_of(rank).host.container
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(
                container.exec_run, ["timeout", "-s", "KILL", f"{timeout_s:g}", *argv],
                workdir=str(self._run_path),
            )  # fmt: skip
            try:
                code, output = done.result(timeout_s + 10.0)
            except Exception as error:
                raise InfrastructureError(f"cannot run {argv[0]!r}: {error}") from None
        if code in (125, 126, 127, 137):
            raise InfrastructureError(
                f"cannot run {argv[0]!r}: {output.decode(errors='replace').strip()} "
                f"({code})"
            )
        return ExecResult(exit_code=code, output=output.decode(errors="replace"))

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
        """Ask, then force the ranks to end; then remove hosts and networks."""
        news: list[News] = []
        for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
            for rank in self._living():
                self.signal(rank, number)
                self.signal(rank, signal.SIGCONT)
            deadline = time.monotonic() + wait_s
            while self._living() and time.monotonic() < deadline:
                news.extend(self._receive(0.05))
        self._is_over = True
        self._keep_logs()
        for link in self._links:
            link.listener.close()
            if link.control is not None:
                link.control.close()
        problem = remove(self._client, self._run_id)
        end(self._run_id)
        if problem and not any(isinstance(item, RuntimeLost) for item in news):
            news.append(RuntimeLost(reason=problem))
        for target in self._ranks.values():
            if target.pidfd >= 0:
                os.close(target.pidfd)
                target.pidfd = -1
        self._recipe.forget()
        self._client.close()
        return (*news, *self._give_up(self._living()))

    # --- talking ------------------------------------------------------------------

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while not all(link.is_ready for link in self._links):
            self._kept += self._receive(0.1)
            for link in self._links:
                if link.is_lost:
                    raise InfrastructureError(
                        f"{link.host.name} ended before it was ready: "
                        f"{self._last_words(link)}"
                    )
            if time.monotonic() > deadline:
                late = [item.host.name for item in self._links if not item.is_ready]
                raise InfrastructureError(
                    f"{', '.join(late)} not ready after {READY_S:g} s"
                )

    def _send_start(self, link: HostLink, *, is_store_here: bool) -> None:
        where = {
            "store_host": self._links[0].addresses["data"],
            "store_port": STORE_PORT,
            "is_store_here": is_store_here,
            "interface_address": link.addresses["data"],
            "management_host": link.addresses["management"],
            "is_in_container": True,
        }
        ranks = [rank for rank in link.host.ranks if rank < self._num_ranks]
        message = {"start": self._num_ranks, "ranks": ranks, "where": where}
        try:
            assert link.control is not None
            link.control.send(json.dumps(message).encode())
        except OSError as error:
            raise InfrastructureError(f"{link.host.name} is gone: {error}") from None

    def _receive(self, timeout_s: float) -> list[News]:
        """Whatever hosts have to say; waits for the first."""
        news: list[News] = []
        wait_s = timeout_s
        while True:
            sources = {
                (link.listener if link.control is None else link.control): link
                for link in self._links
                if not link.is_lost
            }
            if not sources:
                time.sleep(wait_s)
                return news
            ready = select.select(list(sources), [], [], wait_s)[0]
            if not ready:
                self._look_at_silent()
                return news
            for source in ready:
                news += self._hear(sources[source])
            wait_s = 0.0

    def _look_at_silent(self) -> None:
        """A host that ended before it spoke closes no socket of ours."""
        for link in self._links:
            if link.control is None and not link.is_lost:
                try:
                    link.host.container.reload()
                    is_gone = link.host.container.status in ("exited", "dead")
                except Exception:
                    is_gone = True
                link.is_lost = is_gone

    def _hear(self, link: HostLink) -> list[News]:
        if link.control is None:
            control, _ = link.listener.accept()
            credentials = control.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
            if struct.unpack("3i", credentials)[1] != user():
                control.close()  # somebody else's process
            else:
                link.control = control
            return []
        try:
            packet = link.control.recv(65536)
        except OSError:
            packet = b""
        if not packet:
            link.is_lost = True
            return self._on_host_ended(link)
        message = json.loads(packet)
        if "ready" in message:
            link.is_ready = True
        if "started" in message:
            return [self._on_started(message["started"], message["pid"])]
        if "exited" in message:
            rank = message["exited"]
            self._ranks[rank].is_over = True
            return [RankExit(rank=rank, pid=message["pid"], signal=message["signal"],
                             exit_code=message["exit_code"])]  # fmt: skip
        return []

    def _on_started(self, rank: int, pid: int) -> RankStarted:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            pidfd = -1
        self._ranks[rank] = _Rank(pid, pidfd, is_over=pidfd < 0)
        return RankStarted(rank=rank, pid=pid)

    def _on_host_ended(self, link: HostLink) -> list[News]:
        living = [rank for rank in link.host.ranks if rank in self._living()]
        why = f"container of {link.host.name}: {self._last_words(link)}"
        if not living:
            return [RuntimeLost(reason=why)] if self._living() else []
        return self._give_up(living, why=why, number=signal.SIGKILL)

    def _ping(self) -> list[News]:
        self._next_ping_s = time.monotonic() + PING_S
        try:
            self._client.ping()
        except Exception as error:
            self._is_over = True
            reason = f"the Docker daemon does not answer: {error}"
            return [*self._give_up(self._living()), RuntimeLost(reason=reason)]
        return []

    def _last_words(self, link: HostLink) -> str:
        """How a container ended, and the last line of its log."""
        container = link.host.container
        try:
            for _ in range(20):
                container.reload()
                if container.status != "running":
                    break
                time.sleep(0.1)
            state = container.attrs["State"]
            oom = ", out of memory" if state.get("OOMKilled") else ""
            lines = container.logs(tail=1).decode(errors="replace").strip()
            told = f": {lines}" if lines else ""
            return f"{state['Status']} with {state['ExitCode']}{oom}{told}"
        except Exception as error:
            return f"the engine does not say how it ended: {error}"

    def _keep_logs(self) -> None:
        for link in self._links:
            try:
                text = link.host.container.logs()
                (self._run_path / "logs" / f"{link.host.name}.log").write_bytes(text)
            except Exception as error:
                path = self._run_path / "logs" / f"{link.host.name}.log"
                path.write_text(f"not collected: {error}\n")

    def _give_up(
        self, ranks: Sequence[int], *, why: str = "", number: int | None = None
    ) -> list[News]:
        news: list[News] = []
        for rank in ranks:
            self._ranks[rank].is_over = True
            news.append(RankExit(rank=rank, pid=self._ranks[rank].pid, exit_code=None,
                                 signal=number, why=why))  # fmt: skip
        return news

    def _link_of(self, rank: int) -> HostLink:
        return next(link for link in self._links if rank in link.host.ranks)

    def _living(self) -> list[int]:
        return [rank for rank, target in self._ranks.items() if not target.is_over]

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self._num_ranks:
            raise ValueError(f"rank {rank} unknown; allowed: 0..{self._num_ranks - 1}")
