"""The bytes of a progress ring, the only thing that its writer and readers share.

    words 0..15   header, one signed 8-byte word a field, in this machine's byte order
    K records     96 bytes each; `begin` is written first and `end` last
    names         append-only: 2-byte length and UTF-8 text, numbered from 1

Used by `scout.progress` (writes) and `scout.ring_reader` (reads); does no I/O.
"""

from __future__ import annotations

import struct

from scout.config import PHASES

MAGIC = int.from_bytes(b"fyring\0\1", "little")
FORMAT = 1
HEADER_BYTES = 128
NAMES_BYTES = 65_536
MAX_NAME_BYTES = 255


class Word:
    """Index of each header word."""

    MAGIC = 0
    FORMAT = 1
    RANK = 2
    PID = 3
    START_TICKS = 4
    CAPACITY = 5
    CREATED_NS = 6
    LAST_NS = 7  # newest enter or leave, CLOCK_MONOTONIC
    HEAD = 8  # entries ever entered
    NAMES_USED = 9  # bytes
    CLOSED = 10  # 1: the trainer said goodbye


# begin, step, op, lane_op, phase, name, role, group_seq, fingerprint, entered, left,
# end. CPython packs the fields in this order into a zeroed buffer: `begin` and `end`
# are equal only in a whole record (x86 keeps the order of stores; elsewhere a reader
# that looks at the very moment of writing may take a mixed record for a whole one).
RECORD = struct.Struct("=12q")
LEFT_OFFSET_BYTES = 80
NEVER = 0  # `begin` of an unused record; `left` of an entry that is not left
NO_NUMBER = -1  # `lane_op` or `group_seq` that is absent
NO_NAME = 0

PHASE_NUMBERS = {phase: number for number, phase in enumerate(PHASES)}

LANES = ("evaluation", "checkpoint")
"""Phases that not every rank enters: they never count for the shared coordinate."""


def ring_bytes(capacity: int) -> int:
    """Size of the file of a ring of `capacity` records."""
    return HEADER_BYTES + capacity * RECORD.size + NAMES_BYTES
