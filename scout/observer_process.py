"""A trainer's handle on its observer process: start, introduce, bring back, stop.

The observer is exec'ed, in a session of its own and without site packages, so it is up
in a moment, small, and independent of how the training script was written. Called by
`scout.watch`. After the start there is no pipe between the two: the observer's death
cannot block or kill the trainer, and the trainer's death does not end the observer.

    trainer --settings--> observer --address--> trainer     (pipes, closed afterwards)
    trainer --ring (mapped file), /proc--> observer         trainer --TCP--> observer
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vocab
from scout.config import ScoutConfig
from scout.errors import ObserverFailed
from scout.observer_settings import ObserverSettings
from scout.observer_wire import parse_address, read_line, write_request
from scout.process_stat import start_ticks
from vocab.codec import to_json

START_S = 10.0
"""How long an observer may take to say where it listens (usually 0.2 s)."""

TELL_S = 1.0
"""How long the trainer waits for its own observer's answer."""

STOP_S = 2.0
"""How long an observer may take to end when asked to."""

LINGER_S = 15.0
"""How long an observer outlives a dead trainer, to answer its peers."""

MAX_RESTARTS = 3
"""After so many deaths the observer stays off: whatever kills it would go on."""

_LAUNCH = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); "
    "from scout.observer_main import main; main()"
)


class ObserverHandle:
    """One observer and what is needed to start it again. Made by `start`."""

    def __init__(self, settings: ObserverSettings, env: Mapping[str, str]) -> None:
        self._settings = settings
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._num_restarts = 0

    @classmethod
    def start(
        cls,
        *,
        rank: int,
        group_ranks: Sequence[int],
        ring_path: Path,
        config: ScoutConfig,
        journal_dir: Path | None,
        env_tags: Mapping[str, str],
        group: str = "replicate",
        host: str = "127.0.0.1",
        linger_s: float = LINGER_S,
    ) -> ObserverHandle:
        """Start the observer of this process and wait until it listens.

        Args:
            rank: global rank of this process.
            group_ranks: its replica group, itself included.
            ring_path: of this process's open `ProgressRing`.
            config: thresholds and heartbeat.
            journal_dir: folder for `observer<rank>.jsonl`; None: verdicts go to
                standard error.
            env_tags: variables by which the process is found again.
            group: role of the group in the mesh, for verdicts.
            host: management address to listen on.
            linger_s: how long it outlives this process's death, seconds.

        Raises:
            ObserverFailed: it did not start; training can go on without it.
        """
        parent = os.getppid()
        settings = ObserverSettings(
            rank=rank,
            group_ranks=tuple(group_ranks),
            group=group,
            ring_path=str(ring_path.absolute()),
            config=config,
            journal_dir=None if journal_dir is None else str(journal_dir.absolute()),
            host=host,
            port=0,
            token=secrets.token_hex(16),
            peers={},
            run_pid=parent if parent > 1 else None,
            run_start_ticks=start_ticks(parent),
            linger_s=linger_s,
            started_ns=0,
        )
        handle = cls(settings, env_tags)
        handle._launch()
        return handle

    @property
    def address(self) -> str:
        """Where it listens, with its token; what peers' `connect` wants."""
        return self._address

    @property
    def pid(self) -> int | None:
        """Process id; None after `stop`."""
        return None if self._process is None else self._process.pid

    def connect(self, addresses: Mapping[int, str]) -> str | None:
        """Tell the observer where its peers' observers are; returns what went wrong."""
        peers = {str(rank): address for rank, address in addresses.items()}
        self._settings = dataclasses.replace(self._settings, peers=peers)
        if self._tell(self._address, "peers", {"peers": peers}) is None:
            return "the observer did not take its peers' addresses"
        return None

    def is_alive(self) -> bool:
        """Whether the process runs; costs one system call."""
        return self._process is not None and self._process.poll() is None

    def restart_if_dead(self) -> str | None:
        """Bring a dead observer back; returns what happened, None if it lives.

        Call it at step boundaries. After `MAX_RESTARTS` it stays off, told once.
        """
        process = self._process
        if process is None or process.poll() is None:
            return None
        how = _describe_end(process.returncode)
        self._process = None
        if self._num_restarts == MAX_RESTARTS:
            return f"died ({how}) {MAX_RESTARTS + 1} times and stays off"
        self._num_restarts += 1
        before = self._address
        try:
            self._launch()
        except ObserverFailed as error:
            return f"died ({how}) and stays off: {error}"
        if self._address != before:  # its port was taken meanwhile
            self._announce()
        return f"died ({how}) and was started again"

    def stop(self, *, wait_s: float = 0.0) -> None:
        """Say goodbye.

        Without `wait_s` this process is about to end, and the observer stays for its
        exit code. With it this process goes on unobserved; the call returns when the
        observer has ended, by force after so many seconds.
        """
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        told = self._tell(self._address, "goodbye", {"goes_on": wait_s > 0})
        if told is None:
            process.terminate()
            wait_s = max(wait_s, STOP_S)
        if wait_s > 0:
            _wait_or_kill(process, wait_s)
        # It may outlive us on purpose: keep Popen from calling that a leak.
        process.returncode = process.returncode or 0

    def _launch(self) -> None:
        settings = dataclasses.replace(
            self._settings, started_ns=time.monotonic_ns(), port=self._port()
        )
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LAUNCH, _import_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if settings.journal_dir is None else subprocess.DEVNULL,
                env={**os.environ, **self._env},
                start_new_session=True,  # signals to the job's group are not for it
            )
        except OSError as error:
            raise ObserverFailed(f"it cannot be started: {error}") from None
        message = _hand_over(process, json.dumps(to_json(settings)).encode())
        if message is None or "address" not in message:
            process.kill()
            process.wait()
            why = "it did not answer" if message is None else str(message.get("error"))
            raise ObserverFailed(why)
        self._process = process
        self._address = str(message["address"])

    def _port(self) -> int:
        return parse_address(self._address).port if self._address else 0

    def _announce(self) -> None:
        mine = {str(self._settings.rank): self._address}
        for rank, address in self._settings.peers.items():
            if rank != str(self._settings.rank):
                self._tell(address, "peers", {"peers": mine})

    def _tell(self, address: str, op: str, fields: dict[str, Any]) -> Any:
        """Ask an observer; None: no answer in time. Never raises."""
        there = parse_address(address)
        try:
            with socket.create_connection((there.host, there.port), TELL_S) as sock:
                sock.settimeout(TELL_S)
                sock.sendall(write_request(there, op, fields))
                return read_line(sock.makefile("rb").readline())
        except OSError:
            return None


def _hand_over(
    process: subprocess.Popen[bytes], settings: bytes
) -> dict[str, Any] | None:
    """Write the settings, read one line, close both pipes; None: no line in time."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, contextlib.suppress(OSError):
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(settings)  # far below a pipe's size: cannot block
        ready, _, _ = select.select([process.stdout], [], [], START_S)
        if ready:
            return read_line(process.stdout.readline())
    return None


def _wait_or_kill(process: subprocess.Popen[bytes], wait_s: float) -> None:
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _import_path() -> str:
    """Folders that hold `vocab` and `scout`: the observer has no site packages."""
    packages = (Path(str(vocab.__file__)), Path(__file__))
    return ":".join(dict.fromkeys(str(path.resolve().parents[1]) for path in packages))


def _describe_end(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
