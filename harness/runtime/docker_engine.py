"""The containers of one run as hosts: what faults do to them, and what they show.

Implements `injectors.fault.HostEngine` on the Docker SDK. Called by `docker` (the
runtime) and, through it, by the faults of hosts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from injectors.errors import CannotInject

_UNLIMITED = -1
_PERIOD_US = 40_000  # as short as `straggler.cpu_quota` has it, so that passes meet it


@dataclass(slots=True)
class Host:
    """One container and the ranks that live in it."""

    name: str  # host0, ...
    container: Any
    ranks: tuple[int, ...]
    management: Any  # network


class DockerEngine:
    """The hosts of one run."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._of = {rank: host for host in hosts for rank in host.ranks}

    def name_of(self, rank: int) -> str:
        """The host of a rank."""
        return self._of[rank].name

    def state_of(self, rank: int) -> str:
        """The engine's word, with the exit code where there is one."""
        with _refused():
            container = self._of[rank].container
            container.reload()
            state = container.attrs["State"]
            if state["Status"] != "exited":
                return str(state["Status"])
            oom = ", out of memory" if state.get("OOMKilled") else ""
            return f"exited ({state['ExitCode']}{oom})"

    def pause(self, rank: int) -> None:
        """Freeze the container (cgroup freezer)."""
        with _refused():
            self._of[rank].container.pause()

    def unpause(self, rank: int) -> None:
        """Thaw it."""
        if self.state_of(rank) == "paused":
            with _refused():
                self._of[rank].container.unpause()

    def kill(self, rank: int) -> None:
        """SIGKILL to everything in it."""
        with _refused():
            self._of[rank].container.kill()

    def limit_cpus(self, rank: int, cpus: float | None) -> None:
        """Set the quota of CPU time."""
        quota = _UNLIMITED if cpus is None else round(cpus * _PERIOD_US)
        with _refused():
            self._of[rank].container.update(cpu_period=_PERIOD_US, cpu_quota=quota)

    def throttled(self, rank: int) -> str:
        """From the container's statistics."""
        with _refused():
            container = self._of[rank].container
            stats = container.client.api.stats(
                container.id, stream=False, one_shot=True
            )
        data = stats["cpu_stats"]["throttling_data"]
        spent = data["throttled_time"] / 1e9
        return f"throttled {data['throttled_periods']} times, {spent:.3f} s"

    def num_oom_kills(self, rank: int) -> int:
        """From the engine's events of this container."""
        container = self._of[rank].container
        with _refused():
            events = container.client.events(
                since=0, until=int(time.time()) + 1, decode=True,
                filters={"container": container.id, "event": "oom"},
            )  # fmt: skip
            return sum(1 for _ in events)

    def disconnect(self, rank: int) -> None:
        """Off the management network."""
        host = self._of[rank]
        with _refused():
            host.management.disconnect(host.container)

    def reconnect(self, rank: int) -> None:
        """Back on it, with the address it had."""
        host = self._of[rank]
        if host.management.name in self.networks_of(rank):
            return
        with _refused():
            host.management.connect(host.container)

    def networks_of(self, rank: int) -> str:
        """Names, with commas."""
        with _refused():
            container = self._of[rank].container
            container.reload()
            networks = container.attrs["NetworkSettings"]["Networks"]
        return ", ".join(sorted(networks))


@contextmanager
def _refused() -> Iterator[None]:
    """What the engine refuses is no injection."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException, KeyError) as error:
        raise CannotInject(f"the engine refused: {error}") from None
