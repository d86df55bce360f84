"""The fabric's sockets: one connection per rank, messages in, answers out.

Called by `simulated`. It understands the words of `endpoint` and nothing of packets.
"""

from __future__ import annotations

import json
import os
import select
import socket
from pathlib import Path

from harness.fabric.endpoint import MESSAGE_BYTES, SOCKET, short_path
from harness.fabric.exchange import Message


class Switchboard:
    """Listens in a run's `control` folder."""

    def __init__(self, control: Path, num_ranks: int) -> None:
        self.pid = os.getpid()
        self.is_asked_to_end = False
        self._control = control
        self._num_ranks = num_ranks
        self._listener: socket.socket | None = None
        self._ranks: dict[socket.socket, int | None] = {}

    def ask_to_end(self) -> None:
        """From a signal: `serve` looks at it."""
        self.is_asked_to_end = True

    def listen(self) -> None:
        """Open the socket; ranks may connect from now on."""
        self._control.mkdir(parents=True, exist_ok=True)
        (self._control / SOCKET).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with short_path(self._control) as folder:
            listener.bind(f"{folder}/{SOCKET}")
        listener.listen(self._num_ranks)
        self._listener = listener

    def receive(self, timeout_s: float) -> tuple[Message, ...]:
        """What ranks said since the last call; waits at most `timeout_s`."""
        assert self._listener is not None
        ready, _, _ = select.select([self._listener, *self._ranks], [], [], timeout_s)
        found = []
        for connection in ready:
            if connection is self._listener:
                self._ranks[connection.accept()[0]] = None
            elif (message := self._read(connection)) is not None:
                found.append(message)
        return tuple(found)

    def answer_all(self, *, step: int, delay_s: float) -> None:
        """The step is over for every rank that is there."""
        data = json.dumps({"step": step, "delay_s": delay_s}).encode()
        for connection in list(self._ranks):
            try:
                connection.send(data)
            except OSError:  # it died meanwhile, and its socket will say so
                continue

    def close(self) -> None:
        """Hang up."""
        for connection in self._ranks:
            connection.close()
        if self._listener is not None:
            self._listener.close()
            (self._control / SOCKET).unlink(missing_ok=True)

    def _read(self, connection: socket.socket) -> Message | None:
        try:
            data = connection.recv(MESSAGE_BYTES)
        except OSError:
            data = b""
        if not data:
            del self._ranks[connection]
            connection.close()
            return None
        said = json.loads(data)
        if "rank" in said:
            self._ranks[connection] = int(said["rank"])
            return None
        rank = self._ranks[connection]
        assert rank is not None, "a rank says who it is first"
        return Message(
            rank=rank,
            begin=said.get("begin"),
            finish=said.get("finish"),
            job_bytes=said.get("bytes", 0),
            leaves=said.get("leave", False),
        )
