"""Packet sequence numbers of RoCEv2, modulo 2^24 (they wrap every 64 GiB at 4 KiB).

Pure. Called by whatever compares two numbers; "before" and "after" are meant within
half the range, never by size.
"""

from __future__ import annotations

PSN_MODULUS = 1 << 24
QP_LIMIT = 1 << 24  # queue pair numbers have 24 bits as well


def psn_add(psn: int, num_packets: int) -> int:
    """The sequence number `num_packets` after `psn`."""
    return (psn + num_packets) % PSN_MODULUS


def psn_distance(start: int, end: int) -> int:
    """Packets from `start` on to `end`, -2^23 .. 2^23 - 1; negative: `end` is older."""
    half = PSN_MODULUS // 2
    return (end - start + half) % PSN_MODULUS - half
