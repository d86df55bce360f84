"""Read event files, merged by time (DESIGN sec. 4); `vocab.journal` writes them.

Only whole lines are read: a torn last line is left for the next read.

A cursor is an opaque string over the offset reached in every file; reading from it
gives every later event exactly once, whatever was restarted meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

from harness import bounded_json
from harness.clock import MergedClock
from vocab.errors import DecodeError
from vocab.events import Stamped, UnreadableLine, decode

_MAX_LINE_BYTES = 64 * 1024 * 1024


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
        self._clock = MergedClock()

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
                (self._clock.ns(stamped), name, stamped.seq, stamped)
                for stamped in events
            )
        found.sort(key=lambda item: item[:3])
        return Batch(
            events=tuple(item[3] for item in found), cursor=encode_cursor(offsets)
        )

    def wall_ns(self, stamped: Stamped) -> int:
        """Merged wall-clock time of an event that this reader has read."""
        return self._clock.ns(stamped)

    def _read_file(
        self, path: Path, name: str, start: int
    ) -> tuple[list[Stamped], int]:
        if start and not self._clock.knows(name):
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
                self._clock.note(stamped)
                events.append(stamped)
        return events, start + end

    def _read_anchor(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            stamped = _parse_line(file.readline(_MAX_LINE_BYTES).rstrip(b"\n"), name, 0)
        if stamped is not None:
            self._clock.note(stamped)


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


def _parse_line(line: bytes, name: str, offset: int) -> Stamped | None:
    if not line.strip():
        return None
    try:
        return decode(bounded_json.loads(line, max_int=bounded_json.MAX_SIGNATURE))
    except (DecodeError, ValueError, RecursionError) as error:
        problem = UnreadableLine(file=f"{name}.jsonl", offset=offset, error=str(error))
        return Stamped(seq=-1, t_ns=0, source=name, event=problem)
