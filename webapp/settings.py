"""What the dashboard needs to know; made by `faultyard serve` and by tests."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from harness.scenario import SCENARIOS
from webapp.login import MIN_LENGTH

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class NotLoopback(ValueError):
    """The address would let other machines in, and there is no token to stop them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the runs are, and where the server listens."""

    runs_root: Path
    """Folder of run directories; made when the first run is launched."""

    host: str = "127.0.0.1"
    """Address to listen on; beyond loopback only with a token."""

    token: str = ""
    """What others must know, 16 characters or more; "" only on loopback."""

    allowed_hosts: tuple[str, ...] = ()
    """Names by which browsers of other machines may call this server."""

    port: int = 8321
    """TCP port to listen on, 1 to 65535."""

    scenarios: Path = field(default=SCENARIOS)
    """Folder of scenario files that can be launched."""

    max_body_bytes: int = 512 * 1024
    """Longest request body that is read; a scenario has a few kilobytes."""

    stream_poll_s: float = 0.25
    """Seconds between two looks at the event files: at most four redraws a second."""

    @property
    def asks_for_token(self) -> bool:
        """Whether every request has to show the token."""
        return bool(self.token)

    def __post_init__(self) -> None:
        if self.token and len(self.token) < MIN_LENGTH:
            raise ValueError(
                f"the token has {len(self.token)} characters; allowed: {MIN_LENGTH} or "
                "more"
            )
        if not is_loopback(self.host) and not self.token:
            raise NotLoopback(
                f"host {self.host!r} is reachable from other machines and there is no "
                f"token; allowed: {', '.join(LOOPBACK_NAMES)}, or --token-file FILE "
                "(or an SSH tunnel to reach it from elsewhere)"
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
