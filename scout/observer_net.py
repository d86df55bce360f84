"""The observer's sockets: one thread, nothing ever blocks (DESIGN sec. 5).

`Switchboard` answers requests and asks peers, each with a deadline, on one selector; a
peer that is stopped, gone or talks rubbish costs its deadline and nothing else. Used by
`scout.observer`; knows lines and deadlines, not what they mean.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scout.observer_wire import (
    MAX_LINE_BYTES,
    Address,
    read_line,
    read_request,
    write_line,
    write_request,
)

MAX_CONNECTIONS = 1024
REQUEST_S = 2.0
"""How long a connection from outside may take to bring its line and take the answer."""

_READ_BYTES = 65_536

Answer = Callable[[dict[str, Any]], dict[str, Any]]
Done = Callable[[dict[str, Any] | None], None]


@dataclass(slots=True, eq=False)
class _Connection:
    """One request under way, ours (`done` is set) or a peer's."""

    sock: socket.socket
    deadline_s: float
    done: Done | None
    unsent: bytes = b""
    received: bytearray = field(default_factory=bytearray)


class Switchboard:
    """All sockets of one observer."""

    def __init__(self, token: str, answer: Answer) -> None:
        self._token = token
        self._answer = answer
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._connections: set[_Connection] = set()

    def listen(self, host: str, port: int) -> Address:
        """Listen on `host`; port 0 takes a free one, as does a port that is taken.

        Raises:
            OSError: `host` is no address of this machine.
        """
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        try:
            listener.bind((host, port))
        except OSError:
            if port == 0:
                listener.close()
                raise
            listener.bind((host, 0))  # somebody took our old port meanwhile
        listener.listen(MAX_CONNECTIONS)
        self._listener = listener
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        return Address(host=host, port=listener.getsockname()[1], token=self._token)

    def wake_on(self, fd: int) -> None:
        """Let `pump` return when `fd` becomes readable; once, for a process's end."""
        self._selector.register(fd, selectors.EVENT_READ, self._selector.unregister)

    def ask(
        self,
        address: Address,
        op: str,
        fields: dict[str, Any],
        *,
        within_s: float,
        done: Done,
    ) -> None:
        """Ask a peer; `done` gets its answer, or None, exactly once, inside `pump`."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        connection = _Connection(
            sock=sock,
            deadline_s=time.monotonic() + within_s,
            done=done,
            unsent=write_request(address, op, fields),
        )
        self._connections.add(connection)
        try:
            error = sock.connect_ex((address.host, address.port))
        except OSError:  # no such host
            error = errno.EHOSTUNREACH
        if error in (0, errno.EINPROGRESS):
            self._selector.register(sock, selectors.EVENT_WRITE, connection)
        else:
            connection.deadline_s = 0.0  # told by the next `pump`, like a late refusal

    def pump(self, timeout_s: float) -> None:
        """Serve whatever is ready, waiting at most `timeout_s` for the first."""
        deadlines = [connection.deadline_s for connection in self._connections]
        until = min(deadlines, default=float("inf")) - time.monotonic()
        for key, _ in self._selector.select(max(0.0, min(timeout_s, until))):
            if isinstance(key.data, _Connection):
                if key.data in self._connections:
                    self._serve(key.data)
            else:
                key.data(key.fileobj)
        now_s = time.monotonic()
        for connection in [c for c in self._connections if c.deadline_s <= now_s]:
            self._end(connection, None)

    @property
    def is_asking(self) -> bool:
        """Whether a question of ours is still open."""
        return any(connection.done is not None for connection in self._connections)

    def close(self) -> None:
        """Close everything; open questions get no answer."""
        for connection in list(self._connections):
            connection.done = None
            self._end(connection, None)
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
        self._selector.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return  # gone again already, or no file descriptors: the next one may fit
        if len(self._connections) >= MAX_CONNECTIONS:
            sock.close()
            return
        sock.setblocking(False)
        connection = _Connection(
            sock=sock, deadline_s=time.monotonic() + REQUEST_S, done=None
        )
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _serve(self, connection: _Connection) -> None:
        try:
            if connection.unsent:
                self._send(connection)
            else:
                self._receive(connection)
        except BlockingIOError:
            return
        except OSError:
            self._end(connection, None)

    def _send(self, connection: _Connection) -> None:
        sent = connection.sock.send(connection.unsent)
        connection.unsent = connection.unsent[sent:]
        if connection.unsent:
            return
        if connection.done is None:
            self._end(connection, None)  # a peer's request is answered
        else:
            self._selector.modify(connection.sock, selectors.EVENT_READ, connection)

    def _receive(self, connection: _Connection) -> None:
        data = connection.sock.recv(_READ_BYTES)
        connection.received += data
        line, newline, _ = connection.received.partition(b"\n")
        if newline:
            self._on_line(connection, bytes(line))
        elif not data or len(connection.received) > MAX_LINE_BYTES:
            self._end(connection, None)

    def _on_line(self, connection: _Connection, line: bytes) -> None:
        if connection.done is not None:
            self._end(connection, read_line(line))
            return
        request = read_request(line, self._token)
        if request is None:
            self._end(connection, None)
            return
        connection.unsent = write_line(self._answer(request))
        self._selector.modify(connection.sock, selectors.EVENT_WRITE, connection)

    def _end(self, connection: _Connection, answer: dict[str, Any] | None) -> None:
        self._connections.discard(connection)
        with contextlib.suppress(KeyError):  # refused before it was registered
            self._selector.unregister(connection.sock)
        connection.sock.close()
        if connection.done is not None:
            connection.done(answer)
