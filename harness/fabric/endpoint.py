"""A rank's end of the fabric: announce the step's collectives, and wait for them.

    rank                     fabric process
    begin(step, bytes)  ───► all ranks: flows are announced, half of them is sent
    (backward pass)
    finish(step)        ───► all ranks: the rest is sent
                        ◄─── how long a faulty link holds the job up

Standard library only; called by the workload. A fabric that does not answer stalls the
rank, as a network does. The socket stands in the run's `control` folder and is reached
through a file descriptor, because a socket's path may have 107 bytes at most.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

SOCKET = "fabric.sock"
MESSAGE_BYTES = 4096
CONNECT_S = 120.0
_RETRY_S = 0.02


class Network(Protocol):
    """What carries the job's collectives, as the training loop sees it."""

    def begin(self, step: int, job_bytes: int) -> None:
        """The gradients of this step are on their way: so many bytes of this rank."""

    def finish(self, step: int) -> None:
        """Wait until they have arrived everywhere."""

    def close(self) -> None:
        """The job is over."""


class NoNetwork:
    """`fabric: none`: the collectives cross nothing that is modelled."""

    def begin(self, step: int, job_bytes: int) -> None:
        """Nothing to announce."""

    def finish(self, step: int) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to leave."""


class Endpoint:
    """The `Network` of a rank whose collectives a fabric process carries."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    @classmethod
    def connect(
        cls, control: Path, rank: int, timeout_s: float = CONNECT_S
    ) -> Endpoint:
        """Reach the fabric of a run, which may be starting still.

        Raises:
            TimeoutError: nobody listens there after `timeout_s`.
        """
        deadline = time.monotonic() + timeout_s
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        while True:
            try:
                with short_path(control) as folder:
                    connection.connect(f"{folder}/{SOCKET}")
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    connection.close()
                    raise TimeoutError(
                        f"no fabric listens in {control} after {timeout_s:g} s"
                    ) from None
                time.sleep(_RETRY_S)
        endpoint = cls(connection)
        endpoint._send(rank=rank)
        return endpoint

    def begin(self, step: int, job_bytes: int) -> None:
        """See `Network`."""
        self._send(begin=step, bytes=job_bytes)

    def finish(self, step: int) -> None:
        """See `Network`.

        Raises:
            ConnectionError: the fabric is gone.
        """
        self._send(finish=step)
        answer = self._connection.recv(MESSAGE_BYTES)
        if not answer:
            raise ConnectionError("the fabric is gone; see logs/fabric.log")
        delay_s = float(json.loads(answer)["delay_s"])
        if delay_s > 0:
            time.sleep(delay_s)

    def close(self) -> None:
        """Say that this rank leaves."""
        with contextlib.suppress(OSError):  # the fabric may be gone by now
            self._send(leave=True)
        self._connection.close()

    def _send(self, **message: Any) -> None:
        self._connection.send(json.dumps(message).encode())


@contextlib.contextmanager
def short_path(folder: Path) -> Iterator[str]:
    """A short name for a folder, as long as the context lasts."""
    number = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)
