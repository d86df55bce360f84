"""Give a forked process the marks that `harness.processes` looks for in /proc.

/proc/<pid>/environ shows the memory that exec left, whatever Python sets later. So the
warm process is exec'ed with a variable that only takes up room, and what it forks
writes its marks over that. Standard library only; never touches any other variable.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass

ROOM = "FAULTYARD_ROOM"
ROOM_BYTES = 6_000
"""Enough for a run id and a path of PATH_MAX (4,096 bytes)."""


def room() -> dict[str, str]:
    """What to add to the environment of a process that will mark its children."""
    return {ROOM: "-" * ROOM_BYTES}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRoom:
    """Where in this process's memory, and its children's, the room lies."""

    address: int

    @classmethod
    def take(cls) -> MarkRoom:
        """Find the room that this process was exec'ed with, and hide the variable.

        Raises:
            ValueError: there is none.
        """
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_void_p
        value_at = libc.getenv(ROOM.encode())
        if value_at is None or len(os.environ.get(ROOM, "")) != ROOM_BYTES:
            raise ValueError(f"{ROOM} is not in the environment; add `room()` to it")
        del os.environ[ROOM]  # children must not hand it on
        return cls(address=value_at - len(ROOM) - 1)

    def mark(self, marks: Mapping[str, str]) -> None:
        """Show `marks` in this process's /proc entry from now on.

        Raises:
            ValueError: they are too long.
        """
        text = b"".join(f"{key}={marks[key]}".encode() + b"\0" for key in marks)
        size = len(ROOM) + 1 + ROOM_BYTES
        if len(text) > size:
            raise ValueError(f"marks of {len(text)} bytes; allowed: {size}")
        ctypes.memmove(self.address, text.ljust(size, b"\0"), size)
