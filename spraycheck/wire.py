"""The RoCEv2 base transport header (BTH), many packets at once (SprayCheck "marking").

Pure; rows of a `uint8` array are packets. Used by the software RNIC, by data planes and
their tests; never touches a socket.

    byte 0      opcode                       byte 4      FECN 0x80, BECN 0x40,
    byte 1      SE 0x80, M 0x40, Pad 0x30,               reserved 0x3f: mark = 0x01
                TVer 0x0f                    bytes 5-7   destination QP
    bytes 2-3   P_Key                        byte 8      AckReq 0x80
                                             bytes 9-11  PSN, modulo 2^24

The mark is the lowest bit of the first reserved block, which the ICRC leaves out: a
switch may set it without touching the checksum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spraycheck.errors import WireError
from spraycheck.psn import PSN_MODULUS, QP_LIMIT

ROCE_PORT = 4791  # UDP destination port of RoCEv2 (IANA)
BTH_BYTES = 12
MARK_BYTE = 4
MARK_BIT = 0x01
DEFAULT_PARTITION = 0xFFFF

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BthFields:
    """Header fields of n packets, each an array of shape (n,)."""

    opcode: NDArray[np.uint8]
    solicited: NDArray[np.bool_]
    pad_bytes: NDArray[np.uint8]
    version: NDArray[np.uint8]
    partition: NDArray[np.uint16]
    fecn: NDArray[np.bool_]
    becn: NDArray[np.bool_]
    marked: NDArray[np.bool_]
    dest_qp: NDArray[np.uint32]
    ack_request: NDArray[np.bool_]
    psn: NDArray[np.uint32]


def pack_bth(
    *,
    opcode: ArrayLike,
    dest_qp: ArrayLike,
    psn: ArrayLike,
    marked: ArrayLike = False,
    ack_request: ArrayLike = False,
    solicited: ArrayLike = False,
    fecn: ArrayLike = False,
    becn: ArrayLike = False,
    pad_bytes: ArrayLike = 0,
    partition: ArrayLike = DEFAULT_PARTITION,
) -> Bytes:
    """Headers of shape (n, 12); scalars stand for every packet.

    Raises:
        WireError: a field is out of its range.
    """
    fields = np.broadcast_arrays(
        _within("opcode", opcode, 0x100),
        _within("solicited", solicited, 2) << 7
        | _within("pad_bytes", pad_bytes, 4) << 4,
        _within("partition", partition, 1 << 16),
        _within("fecn", fecn, 2) << 7
        | _within("becn", becn, 2) << 6
        | _within("marked", marked, 2) * MARK_BIT,
        _within("dest_qp", dest_qp, QP_LIMIT),
        _within("ack_request", ack_request, 2) << 7,
        _within("psn", psn, PSN_MODULUS),
    )
    code, flags, key, notify, qp, ack, number = (np.atleast_1d(f) for f in fields)
    packed = np.zeros((len(code), BTH_BYTES), np.uint8)
    packed[:, 0] = code
    packed[:, 1] = flags
    _put(packed, 2, 2, key)
    packed[:, MARK_BYTE] = notify
    _put(packed, 5, 3, qp)
    packed[:, 8] = ack
    _put(packed, 9, 3, number)
    return packed


def parse_bth(packets: Bytes) -> BthFields:
    """Read the headers at the start of each row, shape (n, 12 or more).

    Raises:
        WireError: rows are shorter than a header, or not bytes.
    """
    _check_rows(packets)
    flags, notify = packets[:, 1], packets[:, MARK_BYTE]
    return BthFields(
        opcode=packets[:, 0].copy(),
        solicited=(flags & 0x80) != 0,
        pad_bytes=(flags >> np.uint8(4)) & np.uint8(0x3),
        version=flags & np.uint8(0x0F),
        partition=_get(packets, 2, 2).astype(np.uint16),
        fecn=(notify & 0x80) != 0,
        becn=(notify & 0x40) != 0,
        marked=is_marked(packets),
        dest_qp=_get(packets, 5, 3),
        ack_request=(packets[:, 8] & 0x80) != 0,
        psn=_get(packets, 9, 3),
    )


def is_marked(packets: Bytes) -> NDArray[np.bool_]:
    """Whether each packet is measurable, shape (n,)."""
    _check_rows(packets)
    marks: NDArray[np.bool_] = (packets[:, MARK_BYTE] & MARK_BIT) != 0
    return marks


def set_mark(packets: Bytes, marked: ArrayLike) -> None:
    """Set or clear the mark of each packet in place; nothing else changes."""
    _check_rows(packets)
    packets[:, MARK_BYTE] &= 0xFF ^ MARK_BIT
    packets[:, MARK_BYTE] |= np.asarray(marked, bool).astype(np.uint8) * MARK_BIT


def _within(name: str, value: ArrayLike, limit: int) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind not in "bui":
        raise WireError(f"{name} is of type {array.dtype}; allowed: whole numbers")
    # Compared before the cast: 2^64 - 1 must not turn into -1.
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        bad = np.atleast_1d(array)[np.atleast_1d(wrong)][0]
        raise WireError(f"{name} is {bad}; allowed: 0..{limit - 1}")
    return array.astype(np.int64)


def _check_rows(packets: Bytes) -> None:
    if packets.dtype != np.uint8 or packets.ndim != 2 or packets.shape[1] < BTH_BYTES:
        raise WireError(
            f"packets are {packets.dtype} of shape {packets.shape}; "
            f"allowed: uint8 of shape (n, {BTH_BYTES} or more)"
        )


def _put(packed: Bytes, at: int, width: int, values: NDArray[np.int64]) -> None:
    for index in range(width):
        packed[:, at + index] = (values >> (8 * (width - 1 - index))) & 0xFF


def _get(packets: Bytes, at: int, width: int) -> NDArray[np.uint32]:
    value = np.zeros(len(packets), np.uint32)
    for index in range(width):
        value = (value << np.uint32(8)) | packets[:, at + index]
    return value
