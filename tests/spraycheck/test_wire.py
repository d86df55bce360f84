"""The BTH against scapy's RoCE layer, and what must hold for any bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scapy.contrib.roce import BTH

from spraycheck.errors import WireError
from spraycheck.psn import PSN_MODULUS
from spraycheck.wire import (
    is_marked,
    pack_bth,
    parse_bth,
    set_mark,
)

psns = st.integers(0, PSN_MODULUS - 1)
headers = st.fixed_dictionaries(
    {
        "opcode": st.integers(0, 255),
        "dest_qp": st.integers(0, PSN_MODULUS - 1),
        "psn": psns,
        "marked": st.booleans(),
        "ack_request": st.booleans(),
        "solicited": st.booleans(),
        "fecn": st.booleans(),
        "becn": st.booleans(),
        "pad_bytes": st.integers(0, 3),
        "partition": st.integers(0, 0xFFFF),
    }
)


@given(headers)
def test_headers_are_those_of_scapy(fields: dict[str, Any]) -> None:
    reference = BTH(
        opcode=fields["opcode"],
        dqpn=fields["dest_qp"],
        psn=fields["psn"],
        resv6=int(fields["marked"]),
        ackreq=int(fields["ack_request"]),
        solicited=int(fields["solicited"]),
        fecn=int(fields["fecn"]),
        becn=int(fields["becn"]),
        padcount=fields["pad_bytes"],
        pkey=fields["partition"],
        icrc=0,
    ).self_build()[:12]
    assert pack_bth(**fields)[0].tobytes() == reference


@given(st.lists(headers, min_size=1, max_size=8))
def test_many_headers_come_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    fields = parse_bth(pack_bth(**columns))
    for name, column in columns.items():
        assert getattr(fields, name).tolist() == column.tolist()


@given(npst.arrays(np.uint8, st.tuples(st.integers(0, 6), st.integers(12, 40))))
def test_any_bytes_parse_and_marking_changes_one_bit(
    packets: np.ndarray[tuple[int, int], np.dtype[np.uint8]],
) -> None:
    before = packets.copy()
    assert parse_bth(packets).marked.tolist() == is_marked(packets).tolist()
    set_mark(packets, True)
    assert is_marked(packets).all()
    changed = before ^ packets
    changed[:, 4] &= 0xFE
    assert not changed.any()
    set_mark(packets, is_marked(before))
    assert (packets == before).all()


@given(st.binary(max_size=11))
def test_a_short_packet_is_a_named_error(data: bytes) -> None:
    with pytest.raises(WireError, match=r"shape .* allowed: uint8 of shape"):
        parse_bth(np.frombuffer(data, np.uint8)[None, :])


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("psn", PSN_MODULUS, "allowed: 0..16777215"),
        ("dest_qp", -1, "allowed: 0..16777215"),
        ("opcode", 256, "allowed: 0..255"),
        ("pad_bytes", 4, "allowed: 0..3"),
        ("psn", 1.5, "allowed: whole numbers"),
        ("psn", 2**64 - 1, "allowed: 0..16777215"),
    ],
)
def test_a_field_out_of_range_is_a_named_error(
    field: str, value: float, allowed: str
) -> None:
    fields: dict[str, Any] = {"opcode": 0, "dest_qp": 0, "psn": 0, field: value}
    with pytest.raises(WireError, match=f"{field} is .*{allowed}"):
        pack_bth(**fields)
