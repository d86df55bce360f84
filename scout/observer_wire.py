"""What observers say to each other: one JSON line asks, one answers (SCOUT sec. 7).

Sans I/O; used by `scout.observer`, `scout.observer_net` and `scout.observer_process`.
Every request carries the token of the observer that it goes to, so that a stranger on
the management network gets no answer. A line that is none of ours is dropped.

    snapshot  -> the rank's progress        compare   -> look now, somebody is silent
    peers     -> addresses to know          incident  -> a verdict came, or is over
    finished  -> a rank said goodbye        goodbye   -> the own trainer ends
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import Any

MAX_LINE_BYTES = 1 << 20
OPS = ("snapshot", "compare", "peers", "incident", "finished", "goodbye")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an observer listens, and the token that it wants to see."""

    host: str
    port: int
    token: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.token}"


def parse_address(text: str) -> Address:
    """Read `host:port/token`.

    Raises:
        ValueError: not of that form.
    """
    place, slash, token = text.partition("/")
    host, colon, port = place.rpartition(":")
    if not (slash and colon and host and token and port.isdigit()):
        raise ValueError(f"address is {text!r}; allowed: host:port/token")
    return Address(host=host, port=int(port), token=token)


def read_peers(value: Any) -> dict[int, Address]:
    """Addresses by rank, from a message.

    Raises:
        ValueError: not an object of rank -> address.
    """
    if not isinstance(value, dict):
        raise ValueError(f"peers is {value!r}; allowed: rank -> address")
    return {int(rank): parse_address(str(there)) for rank, there in value.items()}


def write_line(message: dict[str, Any]) -> bytes:
    """One line of the protocol."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_request(address: Address, op: str, fields: dict[str, Any]) -> bytes:
    """A request to the observer at `address`; `op` is one of `OPS`."""
    assert op in OPS
    return write_line({"token": address.token, "op": op, **fields})


def read_line(line: bytes) -> dict[str, Any] | None:
    """A line's object; None: malformed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def read_request(line: bytes, token: str) -> dict[str, Any] | None:
    """A request with the right token and a known `op`; None: drop the connection."""
    message = read_line(line)
    if message is None or message.get("op") not in OPS:
        return None
    given = message.get("token")
    if not isinstance(given, str):
        return None
    return message if hmac.compare_digest(given.encode(), token.encode()) else None
