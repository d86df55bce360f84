"""Event files: one writer each, append-only, merged by time when read (DESIGN 4).

    writer  os.write of whole lines, O_APPEND      reader  whole lines only: a torn last
    first line = FileOpened anchor                 line is left for the next read

A cursor is an opaque string over the offset reached in every file; reading from it
gives every later event exactly once, whatever was restarted meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from vocab.errors import DecodeError
from vocab.events import Event, FileOpened, Stamped, UnreadableLine, decode, encode

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MAX_LINE_BYTES = 64 * 1024 * 1024


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
            self._seq = sum(1 for _ in self._path.open("rb"))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a read found: events by time, and the cursor behind them."""

    events: tuple[Stamped, ...]
    cursor: str


class EventReader:
    """Reads all event files of one folder, from a cursor onwards.

    Keeps each file's anchor so that files of one boot merge by the monotonic clock and
    files of different boots by wall time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._anchors: dict[str, FileOpened] = {}
        self._anchor_ns: dict[str, int] = {}
        self._origin: tuple[str, int] | None = None

    def read(self, cursor: str = "", *, sources: str = "*") -> Batch:
        """Every whole event behind `cursor`, merged by time.

        Args:
            cursor: of an earlier read; "" begins at the start.
            sources: glob over source names, such as `rank*`.

        Raises:
            ValueError: the cursor is not one of ours.
        """
        offsets = decode_cursor(cursor)
        found: list[tuple[int, str, int, Stamped]] = []
        for path in sorted(self._folder.glob(f"{sources}.jsonl")):
            name = path.stem
            start = offsets.get(name, 0)
            events, offsets[name] = self._read_file(path, name, start)
            found.extend(
                (self._merge_ns(name, stamped), name, stamped.seq, stamped)
                for stamped in events
            )
        found.sort(key=lambda item: item[:3])
        return Batch(
            events=tuple(item[3] for item in found), cursor=encode_cursor(offsets)
        )

    def wall_ns(self, stamped: Stamped) -> int:
        """Wall-clock time of an event that this reader has read."""
        anchor = self._anchors.get(stamped.source)
        if anchor is None:
            return stamped.t_ns
        return anchor.wall_ns + stamped.t_ns - self._anchor_ns[stamped.source]

    def _read_file(
        self, path: Path, name: str, start: int
    ) -> tuple[list[Stamped], int]:
        if name not in self._anchors and start:
            self._read_anchor(path, name)
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        end = data.rfind(b"\n") + 1
        events: list[Stamped] = []
        offset = start
        for line in data[:end].split(b"\n")[:-1]:
            stamped = _parse_line(line, name, offset)
            offset += len(line) + 1
            if stamped is not None:
                self._note_anchor(name, stamped)
                events.append(stamped)
        return events, start + end

    def _read_anchor(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            stamped = _parse_line(file.readline(_MAX_LINE_BYTES).rstrip(b"\n"), name, 0)
        if stamped is not None:
            self._note_anchor(name, stamped)

    def _note_anchor(self, name: str, stamped: Stamped) -> None:
        if isinstance(stamped.event, FileOpened):
            self._anchors[name] = stamped.event
            self._anchor_ns[name] = stamped.t_ns
            if self._origin is None:
                offset = stamped.event.wall_ns - stamped.t_ns
                self._origin = (stamped.event.boot_id, offset)

    def _merge_ns(self, name: str, stamped: Stamped) -> int:
        anchor = self._anchors.get(name)
        if anchor is None or self._origin is None:
            return stamped.t_ns
        if anchor.boot_id == self._origin[0]:
            return stamped.t_ns + self._origin[1]
        return anchor.wall_ns + stamped.t_ns - self._anchor_ns[name]


def encode_cursor(offsets: dict[str, int]) -> str:
    """Opaque string for the offset reached in each file."""
    packed = zlib.compress(json.dumps(offsets, sort_keys=True).encode())
    return base64.urlsafe_b64encode(packed).decode()


def decode_cursor(cursor: str) -> dict[str, int]:
    """The offsets behind a cursor; "" has none.

    Raises:
        ValueError: it was not made by `encode_cursor`.
    """
    if not cursor:
        return {}
    try:
        packed = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        data = json.loads(unpacker.decompress(packed, 1_000_000))
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError(f"{cursor[:40]!r} is no cursor of an event stream") from None
    if not isinstance(data, dict) or not all(
        isinstance(value, int) and value >= 0 for value in data.values()
    ):
        raise ValueError(f"{cursor[:40]!r} is no cursor of an event stream")
    return data


def boot_id() -> str:
    """This boot of this kernel: monotonic times compare only within it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return "unknown"


def _parse_line(line: bytes, name: str, offset: int) -> Stamped | None:
    if not line.strip():
        return None
    try:
        return decode(json.loads(line))
    except (DecodeError, ValueError, RecursionError) as error:
        problem = UnreadableLine(file=f"{name}.jsonl", offset=offset, error=str(error))
        return Stamped(seq=-1, t_ns=0, source=name, event=problem)
