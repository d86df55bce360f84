"""Reads a rank's progress ring from another process, without its help (SCOUT sec. 7).

The writer may be running, stopped in the middle of a record, or dead. A torn record is
skipped and counted. Used by the observer; never writes to the file.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scout.config import PHASES
from scout.errors import RingUnreadable
from scout.ring_layout import (
    FORMAT,
    HEADER_BYTES,
    MAGIC,
    NEVER,
    NO_NUMBER,
    RECORD,
    Word,
    ring_bytes,
)
from vocab.events import RingEntry

_ATTEMPTS = 3  # a record that is being written right now is whole a moment later


class _Record(NamedTuple):
    begin: int
    step: int
    op: int
    lane_op: int
    phase: int
    name: int
    role: int
    group_seq: int
    fingerprint: int
    entered_ns: int
    left_ns: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RingView:
    """What a ring said at one moment: whole entries by sequence, newest last."""

    entries: tuple[RingEntry, ...]
    num_torn: int
    head: int  # entries ever entered
    age_s: float  # since the trainer last entered or left anything
    closed: bool  # the trainer said goodbye


class RingReader:
    """One reader; made by `open`."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped
        self._words = memoryview(mapped).cast("q")
        self._capacity = self._words[Word.CAPACITY]
        self._names = [""]
        self._names_read = 0  # bytes

    @classmethod
    def open(cls, path: Path) -> RingReader:
        """Map the ring at `path`.

        Raises:
            RingUnreadable: no such file, or not a ring of this format.
        """
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < HEADER_BYTES:
                    raise RingUnreadable(f"{path} has {size} bytes: no ring")
                mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise RingUnreadable(f"{path} cannot be read: {error}") from None
        header = struct.unpack_from("=16q", mapped)
        found = (header[Word.MAGIC], header[Word.FORMAT])
        if found != (MAGIC, FORMAT) or size != ring_bytes(header[Word.CAPACITY]):
            mapped.close()
            raise RingUnreadable(
                f"{path} is no progress ring of format {FORMAT} (found {found})"
            )
        return cls(mapped)

    @property
    def rank(self) -> int:
        """Global rank of the writer."""
        return self._words[Word.RANK]

    @property
    def pid(self) -> int:
        """Process id of the writer."""
        return self._words[Word.PID]

    @property
    def start_ticks(self) -> int:
        """Start time of the writer, as `scout.process_stat` gives it."""
        return self._words[Word.START_TICKS]

    @property
    def last_ns(self) -> int:
        """CLOCK_MONOTONIC time of the newest enter or leave."""
        return self._words[Word.LAST_NS]

    @property
    def closed(self) -> bool:
        """Whether the writer said goodbye."""
        return self._words[Word.CLOSED] != 0

    def newest(self) -> RingEntry | None:
        """The newest whole entry; None before the first."""
        entries = self.snapshot(2, now_ns=0).entries
        return entries[-1] if entries else None

    def snapshot(self, limit: int, *, now_ns: int) -> RingView:
        """Up to `limit` newest entries.

        `now_ns` is CLOCK_MONOTONIC's time, on the machine of the writer.
        """
        head = self._words[Word.HEAD]
        entries: list[RingEntry] = []
        num_torn = 0
        # One beyond the head: its record may be whole, the head not yet moved.
        for seq in range(max(0, head - min(limit, self._capacity - 1)), head + 1):
            record = self._read(seq)
            if record is not None and record.begin == seq + 1:
                entries.append(self._entry(record))
            elif record is None:
                num_torn += 1
        return RingView(
            entries=tuple(entries[-limit:]),
            num_torn=num_torn,
            head=head,
            age_s=max(0.0, (now_ns - self.last_ns) / 1e9),
            closed=self.closed,
        )

    def close(self) -> None:
        """Unmap the file."""
        self._words.release()
        self._mapped.close()

    def _read(self, seq: int) -> _Record | None:
        at = HEADER_BYTES + seq % self._capacity * RECORD.size
        for _ in range(_ATTEMPTS):
            record = _Record(*RECORD.unpack_from(self._mapped, at))
            if record.begin == record.end:
                return record
        return None

    def _entry(self, record: _Record) -> RingEntry:
        lane, group_seq = record.lane_op, record.group_seq
        return RingEntry(
            seq=record.begin - 1,
            step=record.step,
            op=record.op,
            phase=PHASES[record.phase],
            name=self._name(record.name) or "?",
            group_role=self._name(record.role),
            group_seq=None if group_seq == NO_NUMBER else group_seq,
            fingerprint=self._name(record.fingerprint),
            entered_ns=record.entered_ns,
            left_ns=None if record.left_ns == NEVER else record.left_ns,
            lane_op=None if lane == NO_NUMBER else lane,
        )

    def _name(self, number: int) -> str | None:
        if number <= 0:
            return None
        if number >= len(self._names):
            self._read_names()
        return self._names[number] if number < len(self._names) else None

    def _read_names(self) -> None:
        base = HEADER_BYTES + self._capacity * RECORD.size
        used = self._words[Word.NAMES_USED]
        while self._names_read < used:
            at = base + self._names_read
            size = int.from_bytes(self._mapped[at : at + 2], "little")
            text = self._mapped[at + 2 : at + 2 + size]
            self._names.append(text.decode("utf-8", "replace"))
            self._names_read += 2 + size
