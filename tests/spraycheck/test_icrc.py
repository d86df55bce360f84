"""The invariant checksum against scapy's, and what may change without breaking it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.compat import raw
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from spraycheck.errors import WireError
from spraycheck.icrc import icrc, is_intact
from spraycheck.wire import ROCE_PORT, Bytes, set_mark


def packet(payload: bytes, *, psn: int = 7, qp: int = 17, ttl: int = 64) -> Bytes:
    built = raw(
        IP(src="10.0.0.1", dst="10.0.1.1", ttl=ttl)
        / UDP(sport=49152, dport=ROCE_PORT)
        / BTH(opcode=0x0A, psn=psn, dqpn=qp)
        / Raw(payload)
    )
    return np.frombuffer(built, np.uint8)[None, :].copy()


@given(st.binary(max_size=64), st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_checksums_are_those_of_scapy(payload: bytes, psn: int, qp: int) -> None:
    built = packet(payload, psn=psn, qp=qp)
    assert icrc(built[:, :-4]).tobytes() == built[:, -4:].tobytes()


def test_marking_a_packet_keeps_its_checksum() -> None:
    built = packet(b"gradient")
    set_mark(built[:, 28:], True)
    built[:, 8] -= 1  # a hop's TTL
    assert is_intact(built).all()


def test_a_flipped_bit_breaks_it() -> None:
    rows = np.repeat(packet(b"gradient"), 2, axis=0)
    rows[1, 45] ^= 0x10
    assert is_intact(rows).tolist() == [True, False]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((1, 39), np.uint8), "packets have 39 bytes; allowed: 40 or more"),
        (np.full((1, 60), 0x60, np.uint8), "allowed: IPv4, no options"),
        (np.zeros(60, np.uint8), "allowed: uint8 of shape"),
    ],
)
def test_what_is_no_roce_packet_is_a_named_error(rows: Bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        icrc(rows)
