"""What the dashboard needs to know; made by `faultyard serve` and by tests."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from harness.scenario import SCENARIOS

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class NotLoopback(ValueError):
    """The address would let other machines in, and there is no token to stop them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the runs are, and where the server listens."""

    runs_root: Path
    """Folder of run directories; made when the first run is launched."""

    host: str = "127.0.0.1"
    """Address to listen on; loopback only."""

    port: int = 8321
    """TCP port to listen on, 1 to 65535."""

    scenarios: Path = field(default=SCENARIOS)
    """Folder of scenario files that can be launched."""

    max_body_bytes: int = 512 * 1024
    """Longest request body that is read; a scenario has a few kilobytes."""

    stream_poll_s: float = 0.25
    """Seconds between two looks at the event files: at most four redraws a second."""

    def __post_init__(self) -> None:
        if not is_loopback(self.host):
            raise NotLoopback(
                f"host {self.host!r} is reachable from other machines and the "
                f"dashboard has no login; allowed: {', '.join(LOOPBACK_NAMES)} "
                "(use an SSH tunnel to reach it from elsewhere)"
            )
        if not 1 <= self.port <= 65_535:
            raise ValueError(f"port is {self.port}; allowed: 1 to 65535")


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine only."""
    bare = host.strip("[]").lower()
    if bare in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False
