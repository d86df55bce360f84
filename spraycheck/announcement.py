"""How a sender announces a flow to the switches (SprayCheck "flow announcement").

Pure. The paper prints no format: **this one is ours**. A RoCEv2 packet with an opcode
of the manufacturer's range, sent to the flow's queue pair before its data, as often as
the sender likes. The payload after the BTH has fixed width, network byte order:

    0   magic "SpCk"      8   target leaf      20  number of packets N
    4   version 1         10  0                24  sequence, counts announcements
    5   0                 12  destination QP       of this queue pair
    6   source leaf       16  first PSN

Parsed in the switch; the controller gets an `Announcement`, never a packet (the paper's
security concern). The leaf that the sender hangs on overwrites `source leaf`: a host
cannot speak for another leaf. A flow longer than 2^23 packets is announced in pieces,
for beyond that "before" and "after" are one with sequence numbers modulo 2^24.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from spraycheck.errors import WireError
from spraycheck.psn import PSN_MODULUS, QP_LIMIT, psn_add

OPCODE_ANNOUNCE = 0xC5  # 0xC0..0xFF belong to manufacturers (IBTA vol. 1, table 38)
MAX_FLOW_PACKETS = PSN_MODULUS // 2
MAGIC = b"SpCk"
VERSION = 1
_LAYOUT = struct.Struct("!4sBBHHHIIII")
ANNOUNCEMENT_BYTES = _LAYOUT.size
_LIMITS = {
    "source_leaf": (0, (1 << 16) - 1),
    "target_leaf": (0, (1 << 16) - 1),
    "dest_qp": (0, QP_LIMIT - 1),
    "first_psn": (0, PSN_MODULUS - 1),
    "num_packets": (1, MAX_FLOW_PACKETS),
    "sequence": (0, (1 << 32) - 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """N packets will go to queue pair `dest_qp`, numbered from `first_psn` on."""

    source_leaf: int
    target_leaf: int
    dest_qp: int
    first_psn: int
    num_packets: int
    sequence: int

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise WireError(f"{name} is {value}; allowed: {low}..{high}")

    @property
    def last_psn(self) -> int:
        """The sequence number of the flow's last packet."""
        return psn_add(self.first_psn, self.num_packets - 1)


def pack_announcement(announcement: Announcement) -> bytes:
    """The payload that follows the BTH, 28 bytes."""
    return _LAYOUT.pack(
        MAGIC,
        VERSION,
        0,
        announcement.source_leaf,
        announcement.target_leaf,
        0,
        announcement.dest_qp,
        announcement.first_psn,
        announcement.num_packets,
        announcement.sequence,
    )


def parse_announcement(payload: bytes) -> Announcement:
    """Read the payload after the BTH; anything behind its 28 bytes is ignored.

    Raises:
        WireError: too short, another magic or version, or a field out of its range.
    """
    if len(payload) < ANNOUNCEMENT_BYTES:
        raise WireError(
            f"announcement has {len(payload)} bytes; allowed: {ANNOUNCEMENT_BYTES}"
        )
    magic, version, _, source, target, _, qp, psn, number, sequence = (
        _LAYOUT.unpack_from(payload)
    )
    if magic != MAGIC:
        raise WireError(f"magic is {magic!r}; allowed: {MAGIC!r}")
    if version != VERSION:
        raise WireError(f"version is {version}; allowed: {VERSION}")
    return Announcement(
        source_leaf=source,
        target_leaf=target,
        dest_qp=qp,
        first_psn=psn,
        num_packets=number,
        sequence=sequence,
    )
