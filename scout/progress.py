"""Publishes where a rank is, to be read when the rank is stuck (SCOUT sec. 7).

A mapped file holds the last K boundaries and collectives. Training hooks call `enter`
BEFORE an operation that may block and `leave` after it; about a microsecond each. The
observer process reads through `scout.ring_reader`, also while the writer is stopped or
dead: nobody ever takes a lock. It never waits, and never raises in the training path
except for a phase that does not exist.

    trainer: enter -> record, head, time --mapped file--> observer: snapshot
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import tempfile
import time
from pathlib import Path

from scout.process_stat import start_ticks
from scout.ring_layout import (
    FORMAT,
    HEADER_BYTES,
    LANES,
    LEFT_OFFSET_BYTES,
    MAGIC,
    MAX_NAME_BYTES,
    NAMES_BYTES,
    NEVER,
    NO_NAME,
    NO_NUMBER,
    PHASE_NUMBERS,
    RECORD,
    Word,
    ring_bytes,
)

CAPACITY = 256
_HEAD, _LAST_NS = Word.HEAD, Word.LAST_NS  # plain globals: this is the hot path
_pack_record = RECORD.pack_into
_monotonic_ns = time.monotonic_ns
_RECORD_BYTES = RECORD.size
_SHARED_MEMORY = Path("/dev/shm")


class ProgressRing:
    """The one writer of a rank's ring. Its threads may enter and leave at will.

    Made by `create`. A full name table makes later new names read as `?`, and later
    new fingerprints as absent: not compared rather than compared wrongly.
    """

    def __init__(self, path: Path, mapped: mmap.mmap, capacity: int) -> None:
        self.path = path
        self._mapped = mapped
        self._words = memoryview(mapped).cast("q")
        self._capacity = capacity
        self._names_at = HEADER_BYTES + capacity * RECORD.size
        self._names: dict[str | None, int] = {None: NO_NAME}
        self._count = itertools.count()  # next() is atomic: threads get own records
        self._step = -1
        self._op = -1
        self._lane_ops = dict.fromkeys(LANES, -1)
        self._in_lane = False
        self._closed = False

    @classmethod
    def create(cls, path: Path, *, rank: int, capacity: int = CAPACITY) -> ProgressRing:
        """Make the file, in place of one that an earlier run left behind.

        Raises:
            ValueError: `capacity` is below 2.
            OSError: the file cannot be made, or there is no room for it.
        """
        if capacity < 2:
            raise ValueError(f"capacity is {capacity}; allowed: 2 or more")
        path.unlink(missing_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # Reserved now: a store into a hole of a full tmpfs would be a SIGBUS.
            os.posix_fallocate(fd, 0, ring_bytes(capacity))
            ring = cls(path, mmap.mmap(fd, ring_bytes(capacity)), capacity)
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(fd)
        ring._write_header(rank)
        return ring

    def enter(
        self,
        step: int,
        phase: str,
        name: str,
        *,
        group_role: str | None = None,
        group_seq: int | None = None,
        fingerprint: str | None = None,
    ) -> int:
        """Publish that `name` is about to begin; returns the token for `leave`.

        Args:
            step: optimizer step that this belongs to.
            phase: one of `scout.config.PHASES`.
            name: layer, dataset or operation.
            group_role: role in the mesh of the group that a collective runs on.
            group_seq: how many collectives this rank entered on that group before.
            fingerprint: what all members must agree on, see `scout.fingerprint`.

        Raises:
            ValueError: no such phase.
        """
        if step != self._step:
            self._step, self._op = step, -1
        if phase in LANES or self._in_lane:
            lane_op = self._count_lanes(phase)
        else:
            self._op += 1
            lane_op = NO_NUMBER
        try:
            number = PHASE_NUMBERS[phase]
        except KeyError:
            raise ValueError(
                f"phase is {phase!r}; allowed: {', '.join(PHASE_NUMBERS)}"
            ) from None
        names = self._names
        seq = next(self._count)
        now_ns = _monotonic_ns()
        _pack_record(
            self._mapped,
            HEADER_BYTES + seq % self._capacity * _RECORD_BYTES,
            seq + 1,
            step,
            self._op,
            lane_op,
            number,
            names[name] if name in names else self._add(name),
            names[group_role] if group_role in names else self._add(group_role),
            NO_NUMBER if group_seq is None else group_seq,
            names[fingerprint] if fingerprint in names else self._add(fingerprint),
            now_ns,
            NEVER,
            seq + 1,
        )
        words = self._words
        words[_HEAD] = seq + 1
        words[_LAST_NS] = now_ns
        return seq

    def leave(self, token: int) -> None:
        """Publish that what `enter` returned `token` for is over."""
        words = self._words
        now_ns = _monotonic_ns()
        at = HEADER_BYTES + token % self._capacity * _RECORD_BYTES
        if words[at // 8] == token + 1:  # else overwritten by K later entries
            words[(at + LEFT_OFFSET_BYTES) // 8] = now_ns
        words[_LAST_NS] = now_ns

    def close(self) -> None:
        """Say goodbye and remove the file; whoever has it open may go on reading."""
        if self._closed:
            return
        self._closed = True
        self._words[Word.CLOSED] = 1
        self._words.release()
        self._mapped.close()
        with contextlib.suppress(OSError):  # a cleaner was faster
            self.path.unlink()

    def _write_header(self, rank: int) -> None:
        now_ns = time.monotonic_ns()
        words = self._words
        words[Word.FORMAT] = FORMAT
        words[Word.RANK] = rank
        words[Word.PID] = os.getpid()
        words[Word.START_TICKS] = start_ticks(os.getpid()) or 0
        words[Word.CAPACITY] = self._capacity
        words[Word.CREATED_NS] = now_ns
        words[Word.LAST_NS] = now_ns
        words[Word.MAGIC] = MAGIC  # last: a reader trusts only a whole header

    def _count_lanes(self, phase: str) -> int:
        """Number within the lane of an entry that does not count; else close lanes."""
        if phase in LANES:
            self._in_lane = True
            self._lane_ops[phase] += 1
            return self._lane_ops[phase]
        self._in_lane = False
        self._lane_ops = dict.fromkeys(LANES, -1)
        self._op += 1
        return NO_NUMBER

    def _add(self, name: str | None) -> int:
        text = str(name).encode()[:MAX_NAME_BYTES]
        used = self._words[Word.NAMES_USED]
        if used + 2 + len(text) > NAMES_BYTES:
            return -1
        at = self._names_at + used
        self._mapped[at : at + 2 + len(text)] = len(text).to_bytes(2, "little") + text
        self._words[Word.NAMES_USED] = used + 2 + len(text)
        number = len(self._names)
        self._names[name] = number
        return number


def default_ring_path(run: str, rank: int) -> Path:
    """Where a rank's ring lies if nobody says otherwise: in memory where possible.

    Args:
        run: tells this job from others on the machine; letters, digits, `-`, `.`, `_`.
        rank: global rank.
    """
    in_memory = os.access(_SHARED_MEMORY, os.W_OK)
    folder = _SHARED_MEMORY if in_memory else Path(tempfile.gettempdir())
    return folder / f"faultyard-ring-{run}-rank{rank}"
