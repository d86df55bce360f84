"""What a run was made with: commit, dirty flag and versions; imports none of them."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).resolve().parent.parent
_PACKAGES = ("faultyard", "torch", "numpy", "numba")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Commit is `unknown` where the code is no git checkout."""

    commit: str
    dirty: bool
    versions: dict[str, str]
    host: str


def provenance() -> Provenance:
    """Ask git, the package metadata and the system."""
    # One call for both: it lists the commit, then a line per changed file.
    lines = _git("status", "--porcelain=v2", "--branch").splitlines()
    commits = [line.split()[-1] for line in lines if line.startswith("# branch.oid ")]
    return Provenance(
        commit=commits[0] if commits else UNKNOWN,
        dirty=any(not line.startswith("#") for line in lines),
        versions={
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
            "kernel": platform.release(),
        },
        host=platform.node(),
    )


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(_SOURCE), *arguments],
            capture_output=True, text=True, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN
