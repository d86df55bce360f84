"""What this machine offers for runs: what is there, what is missing, how to get it.

Called by `faultyard doctor` and by the dry run (`preflight`). Imports no torch:
versions come from package metadata, the loopback from a socket. Changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

TORCH = "2.13.0"
_MIN_SHARED_BYTES = 64 * 2**20
_MIN_DISK_BYTES = 2**30
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was looked at."""

    name: str
    is_ok: bool
    found: str
    fix: str  # how to get it; "" where it is there
    is_optional: bool = False


def examine(runs_dir: Path) -> Iterator[Item]:
    """Look at everything, one thing at a time."""
    yield _python()
    yield _torch()
    yield from (_package(name) for name in ("numpy", "numba", "pydantic", "fastapi"))
    yield _numba_cache()
    yield _shared_memory()
    yield _loopback()
    yield _signals()
    yield _cores()
    yield _disk(runs_dir)
    yield docker_item(is_optional=True)
    yield _chromium()
    yield _peer()


def _item(
    name: str, is_ok: bool, found: str, fix: str, *, is_optional: bool = False
) -> Item:
    return Item(name=name, is_ok=is_ok, found=found, fix="" if is_ok else fix,
                is_optional=is_optional)  # fmt: skip


def _python() -> Item:
    found = ".".join(map(str, sys.version_info[:3]))
    return _item("python 3.11 or newer", sys.version_info >= (3, 11), found,
                 "install Python 3.11; then make setup PYTHON=python3.11")  # fmt: skip


def _torch() -> Item:
    found = _version("torch")
    fix = f"pip install torch=={TORCH} (the CPU build; a range pulls in CUDA)"
    return _item(f"torch {TORCH}", found.partition("+")[0] == TORCH, found, fix)


def _package(name: str) -> Item:
    found = _version(name)
    return _item(name, found != "none", found, "make setup")


def _numba_cache() -> Item:
    """Numba keeps compiled code beside the source, or where its variable says."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(named) if named else Path(__file__).resolve().parents[1] / "scout"
    fix = "set NUMBA_CACHE_DIR to a folder that you may write, or each run compiles"
    return _item("numba cache can be written", os.access(folder, os.W_OK),
                 str(folder), fix)  # fmt: skip


def _shared_memory() -> Item:
    path = Path("/dev/shm")
    free = shutil.disk_usage(path).free if path.is_dir() else 0
    found = f"{free // 2**20} MiB free" if path.is_dir() else "none"
    fix = "mount a tmpfs on /dev/shm (in a container: --shm-size=256m)"
    return _item("shared memory /dev/shm", free >= _MIN_SHARED_BYTES, found, fix)


def _loopback() -> Item:
    """Gloo talks over TCP on `lo`."""
    fix = "bring the loopback interface up: ip link set lo up"
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=2),
        ):
            found = ", ".join(name for _, name in socket.if_nameindex())
    except OSError as error:
        return _item("loopback for gloo", False, str(error), fix)
    return _item("loopback for gloo", "lo" in found.split(", "), found, fix)


def _signals() -> Item:
    has_pidfd = hasattr(os, "pidfd_open") and Path("/proc/self/environ").exists()
    fix = "Linux 5.3 or newer with /proc mounted"
    return _item("pidfd and /proc", has_pidfd, os.uname().release, fix)


def _cores() -> Item:
    count = len(os.sched_getaffinity(0))
    fix = "runs work, but timings of stragglers become noisy below two cores"
    return _item("two cores or more", count >= 2, str(count), fix, is_optional=True)


def _disk(runs_dir: Path) -> Item:
    folder = runs_dir.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    can_write = os.access(folder, os.W_OK)
    found = f"{free / 2**30:.1f} GiB free" if can_write else "not writable"
    fix = f"free some space for {runs_dir}, or choose another folder with --runs-dir"
    return _item("disk for runs", can_write and free >= _MIN_DISK_BYTES, found, fix)


def docker_item(context: str | None = None, *, is_optional: bool) -> Item:
    """The Docker daemon and the image that `runtime: docker` needs."""
    from harness import images
    from harness.errors import InfrastructureError

    name = "docker and the trainer image"
    try:
        with contextlib.closing(images.client(context)) as made:
            version = str(made.version().get("Version", ""))
            is_there = images.is_there(made)
    except InfrastructureError as error:
        fix = ("install faultyard[docker] and a Docker engine (apt-get install "
               "docker.io), start it, and join the group docker")  # fmt: skip
        return _item(name, False, str(error), fix, is_optional=is_optional)
    found = f"engine {version}, image {'there' if is_there else 'missing'}"
    fix = "faultyard images build (--offline where no image can be pulled)"
    return _item(name, is_there, found, fix, is_optional=is_optional)


def _chromium() -> Item:
    path = _first(shutil.which, _CHROMIUM)
    fix = "apt-get install chromium (only the browser tests need it)"
    return _item("chromium", path is not None, path or "none", fix, is_optional=True)


def _peer() -> Item:
    found = _version("lm-resiliency")
    fix = "pip install lm-resiliency==0.2.0 (only a benchmark compares with it)"
    return _item("lm-resiliency", found != "none", found, fix, is_optional=True)


def _first(find: Callable[[str], str | None], names: tuple[str, ...]) -> str | None:
    return next((path for path in map(find, names) if path), None)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"
