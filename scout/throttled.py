"""How long the kernel has held this process back for its CPU quota (cgroup cpu.stat).

A quota looks like contention: the thread waits in the run queue. Only the cgroup's
throttled time tells them apart (FACTS "CPU contention against a real straggler").
Read by `clock`; it changes no cgroup.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_V1_FOLDERS = ("cpu", "cpu,cpuacct", "cpuacct,cpu")


class _Kept:
    """Open files of this process: opening them costs ten times a reading."""

    def __init__(self) -> None:
        self.pid = os.getpid()  # a forked child must open its own
        self._cgroup = os.open("/proc/self/cgroup", os.O_RDONLY | os.O_CLOEXEC)
        self._text = b""
        self._stats: list[int] = []

    def read(self) -> float:
        text = os.pread(self._cgroup, 4096, 0)
        if text != self._text:  # at first, and when the process was moved
            for descriptor in self._stats:
                os.close(descriptor)
            files = stat_files(text.decode("utf-8", "replace"))
            self._stats = [os.open(p, os.O_RDONLY | os.O_CLOEXEC) for p in files]
            self._text = text
        return sum(in_seconds(os.pread(fd, 4096, 0)) for fd in self._stats)


_kept: _Kept | None = None


def throttled_s() -> float:
    """Seconds since boot for the process's cgroup and those above it; 0 if unknown."""
    global _kept
    try:
        if _kept is None or _kept.pid != os.getpid():
            _kept = _Kept()
        return _kept.read()
    except OSError:  # no cgroups here, or one that is just removed
        return 0.0


def stat_files(text: str, root: Path = ROOT) -> tuple[Path, ...]:
    """The cpu.stat files that count for a /proc/self/cgroup of this `text`.

    cgroup v1 lists `N:cpu:/path`, v2 `0::/path`; where both are mounted the CPU
    controller is with v1 (cgroups(7)).
    """
    lines = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    v1 = [path for _, names, path in lines if "cpu" in names.split(",")]
    if v1:
        folders = [root / name for name in _V1_FOLDERS if (root / name).is_dir()][:1]
        path = v1[0]
    else:
        folders = [root]
        path = next((path for _, names, path in lines if not names), "/")
    found = []
    for folder in folders:
        here = folder / path.strip("/")
        for level in (here, *here.parents):
            found.append(level / "cpu.stat")
            if level == folder:
                break
    return tuple(path for path in found if path.is_file())


def in_seconds(stat: bytes) -> float:
    """Throttled seconds of a cpu.stat; 0 where it has none."""
    for line in stat.splitlines():
        name, _, value = line.partition(b" ")
        if name == b"throttled_time":  # v1, nanoseconds
            return int(value) / 1e9
        if name == b"throttled_usec":  # v2
            return int(value) / 1e6
    return 0.0
