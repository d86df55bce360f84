"""A CPU cgroup of our own: make it, move this process in and out, remove it.

    v1  /sys/fs/cgroup/cpu/faultyard-<run id>-<name>   cpu.cfs_quota_us, cfs_period_us
    v2  /sys/fs/cgroup/faultyard-<run id>-<name>       cpu.max

Used by `straggler.cpu_quota` and by `harness.leftovers`, which removes what killed runs
left. Only groups with our prefix are ever changed; where the kernel or the rights do
not allow one, `CannotInject` says what is missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from injectors.errors import CannotInject

ROOT = Path("/sys/fs/cgroup")
PREFIX = "faultyard-"
_RUN_MARK = "FAULTYARD_RUN_ID"  # in the environment of every process of a run
_V1_FOLDERS = ("cpu", "cpu,cpuacct", "cpuacct,cpu")
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """Where the CPU controller is mounted; `version` 1 or 2."""

    folder: Path
    version: int


def controller(root: Path = ROOT) -> Controller:
    """The CPU controller of this machine.

    Raises:
        CannotInject: there is none that a group of ours could use.
    """
    for name in _V1_FOLDERS:
        if (root / name / "cpu.cfs_quota_us").is_file():
            return Controller(folder=root / name, version=1)
    try:
        enabled = (root / "cgroup.subtree_control").read_text().split()
    except OSError:
        raise CannotInject(f"no CPU cgroup is mounted below {root}") from None
    if "cpu" not in enabled:
        raise CannotInject(
            f"the cpu controller is not enabled in {root}/cgroup.subtree_control; "
            "enable it with: echo +cpu | sudo tee " + f"{root}/cgroup.subtree_control"
        )
    return Controller(folder=root, version=2)


def groups_of(run_id: str, root: Path = ROOT) -> list[Path]:
    """Groups that a run made and did not remove."""
    try:
        folder = controller(root).folder
    except CannotInject:
        return []
    return sorted(folder.glob(f"{PREFIX}{run_id}-*"))


class CpuCgroup:
    """One group with a quota, for this process; `enter` and `leave` in turns."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        self._controller = controller(root)
        run_id = os.environ.get(_RUN_MARK) or f"pid{os.getpid()}"
        self.folder = self._controller.folder / f"{PREFIX}{run_id}-{name}"
        self._home: Path | None = None  # where this process was before

    def enter(self, quota_s: float, period_s: float) -> None:
        """Make the group and move this process in.

        Raises:
            CannotInject: no right to, or no such controller.
        """
        if self._home is not None:
            return
        home = self._controller.folder / self._own_path().strip("/")
        try:
            self.folder.mkdir(exist_ok=True)
            self._limit(round(quota_s * _MICROSECONDS), round(period_s * _MICROSECONDS))
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            self.remove()
            raise CannotInject(
                f"no CPU quota can be set ({error.strerror} for {error.filename}); "
                "it needs root and a writable cgroup"
            ) from None
        self._home = home

    def leave(self) -> None:
        """Move this process back and remove the group; a second call does nothing."""
        if self._home is not None:
            (self._home / "cgroup.procs").write_text(str(os.getpid()))
            self._home = None
        self.remove()

    def remove(self) -> None:
        """Remove the group if it is there and empty."""
        if self.folder.is_dir():
            try:
                self.folder.rmdir()
            except OSError:  # not empty: `faultyard clean` comes back for it
                return

    def quota(self) -> str:
        """The quota as the kernel has it, and whether this process is in the group."""
        if not self.folder.is_dir():
            return "none"
        members = (self.folder / "cgroup.procs").read_text().split()
        is_in = "this process in it" if str(os.getpid()) in members else "empty"
        return f"{self._read_limit()} ({self.folder.name}, {is_in})"

    def throttled(self) -> str:
        """How often and how long it was throttled, as the kernel counts it."""
        try:
            stat = (self.folder / "cpu.stat").read_text()
        except OSError:
            return "not throttled"
        fields = dict(line.split() for line in stat.splitlines())
        spent = int(fields.get("throttled_time", 0)) / 1e9
        spent += int(fields.get("throttled_usec", 0)) / 1e6
        return f"throttled {fields.get('nr_throttled', '0')} times, {spent:.3f} s"

    def _limit(self, quota_us: int, period_us: int) -> None:
        if self._controller.version == 1:
            (self.folder / "cpu.cfs_period_us").write_text(str(period_us))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (self.folder / "cpu.max").write_text(f"{quota_us} {period_us}")

    def _read_limit(self) -> str:
        if self._controller.version == 1:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            values = [(self.folder / name).read_text().strip() for name in names]
        else:
            values = (self.folder / "cpu.max").read_text().split()
        return f"{values[0]} us of CPU in every {values[1]} us"

    def _own_path(self) -> str:
        wanted = "cpu" if self._controller.version == 1 else ""
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if wanted in names.split(","):
                return path
        return "/"
