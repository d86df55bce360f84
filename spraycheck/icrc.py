"""The invariant checksum at the end of every RoCEv2 packet (IBTA vol. 1, annex A17.3).

Pure. CRC-32 over eight bytes of ones and the packet from its IPv4 header on, where
every field that switches may change counts as ones: TOS, TTL, both checksums, and byte
4 of the BTH, so that marking a packet keeps it valid. Appended little-endian.

Used by the software RNIC and by data plane tests. IPv4 without options only.
"""

from __future__ import annotations

import zlib

import numpy as np

from spraycheck.errors import WireError
from spraycheck.wire import BTH_BYTES, MARK_BYTE, Bytes

ICRC_BYTES = 4
IPV4_BYTES = 20
UDP_BYTES = 8
_BTH_AT = IPV4_BYTES + UDP_BYTES
_PREFIX = zlib.crc32(b"\xff" * 8)
# TOS, TTL, IPv4 checksum, UDP checksum, and the BTH's FECN, BECN and reserved bits.
_VARIANT = (1, 8, 10, 11, IPV4_BYTES + 6, IPV4_BYTES + 7, _BTH_AT + MARK_BYTE)


def icrc(packets: Bytes) -> Bytes:
    """Checksums of shape (n, 4) for packets of equal length, shape (n, m).

    Rows begin with the IPv4 header and end before the ICRC; the lengths in their
    headers already count it.

    Raises:
        WireError: rows are too short, or not IPv4 without options.
    """
    if packets.dtype != np.uint8 or packets.ndim != 2:
        raise WireError(f"packets are {packets.dtype} of shape {packets.shape}; "
                        "allowed: uint8 of shape (n, m)")  # fmt: skip
    if packets.shape[1] < _BTH_AT + BTH_BYTES:
        raise WireError(
            f"packets have {packets.shape[1]} bytes; "
            f"allowed: {_BTH_AT + BTH_BYTES} or more (IPv4, UDP, BTH)"
        )
    if (packets[:, 0] != 0x45).any():
        raise WireError("packet does not begin with 0x45; allowed: IPv4, no options")
    masked = packets.copy()
    masked[:, _VARIANT] = 0xFF
    sums = np.array([zlib.crc32(row.data, _PREFIX) for row in masked], "<u4")
    return sums.view(np.uint8).reshape(-1, ICRC_BYTES)


def is_intact(packets: Bytes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the last four bytes of each row are its checksum, shape (n,)."""
    body, given = packets[:, :-ICRC_BYTES], packets[:, -ICRC_BYTES:]
    intact: np.ndarray[tuple[int], np.dtype[np.bool_]] = (icrc(body) == given).all(1)
    return intact
