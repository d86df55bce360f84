"""Make the containers of a run and their two networks, and remove them again.

    data network         collectives of the job
    management network   observers: what watches must not hang on what is watched

Called by `docker` (the runtime), `harness.leftovers` and `faultyard clean`. Everything
that is made carries our labels, and is found by them.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import images
from harness.errors import InfrastructureError
from harness.leftovers import HOSTS
from harness.processes import MARK, ROOT_MARK
from harness.runtime.docker_engine import Host
from harness.runtime.warm import ONE_THREAD
from harness.scenario import Hosts

RUN_LABEL = f"{images.LABEL}.run"
ROOT_LABEL = f"{images.LABEL}.root"
SOCKETS = "/run/faultyard"  # in a container
STORE_PORT = 29_500  # in its own network namespace: always free
_OWNED = ("events", "logs", "control", "evidence", "checkpoints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the hosts of a run are made from."""

    run_path: Path
    run_id: str
    workload: str
    attempt: int
    num_ranks: int
    settings: Hosts

    @property
    def sockets(self) -> Path:
        """Folder of the harness's sockets; its path has to be short."""
        return Path("/dev/shm") / f"faultyard-{self.run_id}{HOSTS}"

    @property
    def labels(self) -> dict[str, str]:
        """Of everything that is made."""
        return {images.LABEL: "run", RUN_LABEL: self.run_id,
                ROOT_LABEL: str(self.run_path.parent)}  # fmt: skip

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The ranks of each host."""
        size = self.settings.ranks_per_host
        return [tuple(range(first, min(first + size, self.num_ranks)))
                for first in range(0, self.num_ranks, size)]  # fmt: skip

    def forget(self) -> None:
        """Remove the sockets."""
        shutil.rmtree(self.sockets, ignore_errors=True)


@dataclass(slots=True)
class HostLink:
    """One host as the runtime sees it."""

    host: Host
    listener: socket.socket
    control: socket.socket | None = None
    is_ready: bool = False
    is_lost: bool = False
    addresses: dict[str, str] = field(default_factory=dict)  # network: address


def user() -> int:
    """Who runs in containers: nobody of this machine, or whoever we are."""
    return images.USER if os.geteuid() == 0 else os.geteuid()


def make_hosts(made: Any, recipe: Recipe) -> list[HostLink]:
    """Networks and containers; returns when they are started, not when ready.

    Raises:
        InfrastructureError: one cannot be made; the others may be there.
    """
    from docker.errors import DockerException

    _give_folders(recipe)
    try:
        data, management = (
            made.networks.create(
                f"faultyard-{recipe.run_id}-{name}", driver="bridge", internal=True,
                labels=recipe.labels,
            )
            for name in ("data", "management")
        )  # fmt: skip
        with ThreadPoolExecutor(8) as pool:
            return list(
                pool.map(
                    lambda number: _make_host(made, recipe, number, data, management),
                    range(len(recipe.groups)),
                )
            )
    except (DockerException, OSError) as error:
        raise InfrastructureError(f"a host cannot be made: {error}") from None


def remove(made: Any, run_id: str) -> str:
    """Remove containers and networks of a run; says what could not be, or nothing."""
    wanted = {"label": f"{RUN_LABEL}={run_id}"}
    problem = ""
    try:
        for container in made.containers.list(all=True, filters=wanted):
            try:
                if container.status == "paused":
                    container.unpause()
                container.remove(force=True, v=True)
            except Exception as error:
                problem = problem or f"a container of {run_id} is left: {error}"
        for network in made.networks.list(filters=wanted):
            try:
                network.remove()
            except Exception as error:
                problem = problem or f"a network of {run_id} is left: {error}"
    except Exception as error:
        problem = f"the Docker daemon does not answer: {error}"
    return problem


def left_runs(made: Any, root: Path) -> set[str]:
    """Runs of a folder that have containers or networks."""
    wanted = {"label": f"{ROOT_LABEL}={root}"}
    found = [item.labels for item in made.containers.list(all=True, filters=wanted)]
    found += [item.attrs.get("Labels") or {}
              for item in made.networks.list(filters=wanted)]  # fmt: skip
    return {labels[RUN_LABEL] for labels in found if RUN_LABEL in labels}


def _give_folders(recipe: Recipe) -> None:
    """The user of the containers writes into the run's folders, nowhere else."""
    for name in _OWNED:
        folder = recipe.run_path / name
        folder.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, user(), user())
    # It has to pass through the folder itself, whatever the umask was.
    recipe.run_path.chmod(stat.S_IMODE(recipe.run_path.stat().st_mode) | 0o011)
    recipe.sockets.mkdir(mode=0o755, exist_ok=True)


def _make_host(
    made: Any, recipe: Recipe, number: int, data: Any, management: Any
) -> HostLink:
    name = f"host{number}"
    listener = _listen(recipe.sockets / f"{name}.sock")
    limits: dict[str, Any] = {}
    if recipe.settings.cpus is not None:
        limits = {"cpu_period": 100_000,
                  "cpu_quota": round(recipe.settings.cpus * 100_000)}  # fmt: skip
    memory = f"{recipe.settings.memory_mib}m"
    run = str(recipe.run_path)
    container = made.containers.create(
        images.tag(),
        ["-m", "harness.runtime.host", f"{SOCKETS}/{name}.sock", run, recipe.workload,
         str(recipe.attempt), str(number)],
        name=f"faultyard-{recipe.run_id}-{name}", hostname=name,
        labels=recipe.labels, user=f"{user()}:{user()}",
        pid_mode="host", network=management.name, mem_limit=memory,
        memswap_limit=memory, shm_size="256m", cap_drop=["ALL"],
        security_opt=["no-new-privileges"], working_dir=run,
        environment={
            **ONE_THREAD, MARK: recipe.run_id, ROOT_MARK: str(recipe.run_path.parent),
            "PYTHONPATH": images.python_path(),
        },
        volumes={
            **images.source_mount(),
            run: {"bind": run, "mode": "rw"},
            str(recipe.sockets): {"bind": SOCKETS, "mode": "rw"},
            images.CACHE_VOLUME: {"bind": "/opt/cache", "mode": "rw"},
        },
        **limits,
    )  # fmt: skip
    data.connect(container)
    container.start()
    container.reload()
    found = container.attrs["NetworkSettings"]["Networks"]
    return HostLink(
        host=Host(
            name=name,
            container=container,
            ranks=recipe.groups[number],
            management=management,
        ),
        listener=listener,
        addresses={
            "data": found[data.name]["IPAddress"],
            "management": found[management.name]["IPAddress"],
        },
    )


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    path.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IWOTH | stat.S_IROTH)
    listener.listen(4)
    return listener
