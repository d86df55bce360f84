"""Write event files: one writer each, append-only, whole lines (DESIGN sec. 4).

The only module of `vocab` that does I/O: ranks, observers, leaves and the harness all
write this way, and none of them may import the harness for it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from vocab.events import Event, FileOpened, Stamped, encode

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class EventWriter:
    """The one writer of one source's file; safe to kill at any moment.

    Not for use by several threads at once.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self._path = folder / f"{source}.jsonl"
        self._source = source
        self._seq = 0
        self._fd = -1

    def open(self) -> EventWriter:
        """Open the file and anchor it; a torn line of an earlier writer is ended."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o644)
        size = os.fstat(self._fd).st_size
        if size:
            if os.pread(self._fd, 1, size - 1) != b"\n":
                os.write(self._fd, b"\n")
            with self._path.open("rb") as file:
                self._seq = sum(1 for _ in file)
        self.write(
            FileOpened(wall_ns=time.time_ns(), boot_id=boot_id(), pid=os.getpid())
        )
        return self

    def write(self, event: Event) -> Stamped:
        """Append one event; returns it with its place and time."""
        stamped = Stamped(
            seq=self._seq, t_ns=time.monotonic_ns(), source=self._source, event=event
        )
        line = json.dumps(encode(stamped), separators=(",", ":"), allow_nan=False)
        data = line.encode() + b"\n"
        while data:  # a short write happens only when the disk is nearly full
            data = data[os.write(self._fd, data) :]
        self._seq += 1
        return stamped

    def close(self) -> None:
        """Close the file; writing afterwards is an error."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> EventWriter:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()


def boot_id() -> str:
    """This boot of this kernel: monotonic times compare only within it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return "unknown"
