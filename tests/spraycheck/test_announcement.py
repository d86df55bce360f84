"""Our announcement: it comes back as it was, and no bytes can crash its parser."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spraycheck.announcement import (
    ANNOUNCEMENT_BYTES,
    Announcement,
    pack_announcement,
    parse_announcement,
)
from spraycheck.errors import WireError

announcements = st.builds(
    Announcement,
    source_leaf=st.integers(0, 0xFFFF),
    target_leaf=st.integers(0, 0xFFFF),
    dest_qp=st.integers(0, 2**24 - 1),
    first_psn=st.integers(0, 2**24 - 1),
    num_packets=st.integers(1, 2**23),
    sequence=st.integers(0, 2**32 - 1),
)
ONE = Announcement(
    source_leaf=1, target_leaf=2, dest_qp=17, first_psn=0xFFFFFE, num_packets=4,
    sequence=9,
)  # fmt: skip


@given(announcements, st.binary(max_size=9))
def test_an_announcement_comes_back_as_it_was(one: Announcement, rest: bytes) -> None:
    assert parse_announcement(pack_announcement(one) + rest) == one


def test_its_bytes_are_those_of_the_table_in_the_module() -> None:
    assert pack_announcement(ONE).hex(" ", 4) == (
        "5370436b 01000001 00020000 00000011 00fffffe 00000004 00000009"
    )


def test_the_last_number_wraps() -> None:
    assert ONE.last_psn == 1


@given(st.binary(max_size=40))
def test_any_bytes_are_an_announcement_or_a_named_error(data: bytes) -> None:
    with contextlib.suppress(WireError):
        assert isinstance(parse_announcement(data), Announcement)


@given(announcements, st.integers(0, ANNOUNCEMENT_BYTES - 1), st.integers(0, 255))
def test_any_changed_byte_is_an_announcement_or_a_named_error(
    one: Announcement, place: int, value: int
) -> None:
    data = bytearray(pack_announcement(one))
    data[place] = value
    with contextlib.suppress(WireError):
        assert isinstance(parse_announcement(bytes(data)), Announcement)


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_packets", 0), ("num_packets", 2**23 + 1), ("dest_qp", 2**24),
     ("first_psn", -1), ("source_leaf", 2**16), ("sequence", 2**32)],
)  # fmt: skip
def test_a_field_out_of_range_is_a_named_error(field: str, value: int) -> None:
    with pytest.raises(WireError, match=f"{field} is {value}; allowed: "):
        dataclasses.replace(ONE, **{field: value})
