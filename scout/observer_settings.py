"""What a trainer tells its observer at the start; goes through its standard input."""

from __future__ import annotations

from dataclasses import dataclass

from scout.config import ScoutConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverSettings:
    """What a trainer tells its observer at the start."""

    rank: int
    group_ranks: tuple[int, ...]
    group: str  # role of the peer group
    ring_path: str
    config: ScoutConfig
    journal_dir: str | None  # None: verdicts go to standard error
    host: str  # address to listen on
    port: int  # 0: any
    token: str
    peers: dict[str, str]  # rank -> address
    run_pid: int | None  # the observer ends soon after this process; None: no such
    run_start_ticks: int | None
    linger_s: float  # after the trainer's death
    started_ns: int  # when the trainer started us
