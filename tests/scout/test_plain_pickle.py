"""The pickle reader: plain data as `pickle` reads it, and never anything that runs."""

from __future__ import annotations

import copyreg
import os
import pickle
from collections import OrderedDict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scout.plain_pickle import loads

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_data_is_read_as_pickle_reads_it(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol=protocol)
    assert loads(data) == pickle.loads(data) == value


class _Runs:
    def __init__(self, what: Any, *arguments: Any) -> None:
        self._call = what, arguments

    def __reduce__(self) -> Any:
        return self._call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("as_key", [True, False])
def test_a_pickle_that_calls_os_system_is_refused_and_runs_nothing(
    protocol: int, as_key: bool, tmp_path: Path
) -> None:
    trace = tmp_path / "it-ran"
    evil = _Runs(os.system, f"touch {trace}")
    value = {evil: 1} if as_key else {"entries": [evil], "version": "2.10"}
    data = pickle.dumps(value, protocol=protocol)
    with pytest.raises(
        ValueError, match=r"holds more than plain data: opcode \w*GLOBAL"
    ):
        loads(data)
    assert not trace.exists()
    pickle.loads(data)  # the control: the same bytes do run in an ordinary reader
    assert trace.exists()


@pytest.mark.parametrize(
    "value",
    [{1, 2}, frozenset((1,)), b"bytes", bytearray(b"x"), 1j, date(2026, 1, 1),
     OrderedDict(a=1), len, ValueError("x"), {1: 2}, {(1,): 2}],
)  # fmt: skip
@pytest.mark.parametrize("protocol", [2, 5])
def test_whatever_is_not_plain_is_refused(value: Any, protocol: int) -> None:
    with pytest.raises(ValueError, match="more than plain data|as a key"):
        loads(pickle.dumps(value, protocol=protocol))


def test_extension_codes_and_persistent_ids_are_refused() -> None:
    copyreg.add_extension("os", "system", 240)
    try:
        code = pickle.dumps(os.system, protocol=2)
    finally:
        copyreg.remove_extension("os", "system", 240)
    for data in (code, b"Pname\n.", b"\x80\x02U\x01aQ."):
        with pytest.raises(ValueError, match="more than plain data"):
            loads(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",  # nothing is left at the end
        b"K\x01K\x02.",  # two values are left
        b"(K\x01.",  # a mark is left
        b"a.",  # appends to nothing
        b"K\x01K\x02a.",  # appends to a number
        b"K\x01K\x02K\x03s.",  # sets an item of a number
        b"}(K\x01u.",  # an odd number of items
        b"t.",  # no mark
        b"h\x05.",  # a value that was never kept
        b"q\x05.",  # keeps nothing
        b"K\x01.more",
        b"\x80\x02}",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.",  # a text of 2^63 bytes
        b"r\xff\xff\xff\x7f.",
        b"\xff\xfe\xfd",
        b"I12x\n.",
    ],
)
def test_malformed_pickles_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(data)


def test_a_large_memo_number_takes_no_memory() -> None:
    assert loads(b"K\x07r\xff\xff\xff\x7f.") == 7


def test_deep_nesting_overflows_nothing() -> None:
    depth = 200_000
    value = loads(b"]" * depth + b"a" * (depth - 1) + b".")
    while value:
        (value,) = value
    with pytest.raises(ValueError, match="as a key"):
        loads(b"}K\x01" + b"\x85" * depth + b"K\x01s.")


def _outcome(data: bytes) -> str:
    try:
        return f"read {type(loads(data)).__name__}"
    except ValueError as error:
        return str(error)


@settings(max_examples=300)
@given(data=st.binary(max_size=200))
def test_random_bytes_give_a_value_or_a_named_error(data: bytes) -> None:
    assert _outcome(data)


@settings(max_examples=300)
@given(value=PLAIN, protocol=st.integers(0, 5), draw=st.data())
def test_every_truncation_is_noticed(
    value: Any, protocol: int, draw: st.DataObject
) -> None:
    data = pickle.dumps(value, protocol=protocol)
    cut = draw.draw(st.integers(0, len(data) - 1))
    with pytest.raises(ValueError, match=r"is no whole pickle"):
        loads(data[:cut])


@settings(max_examples=500)
@given(value=PLAIN, flips=st.lists(st.tuples(st.integers(0), st.integers(1, 255))))
def test_flipped_bytes_give_a_value_or_a_named_error(
    value: Any, flips: list[tuple[int, int]]
) -> None:
    data = bytearray(pickle.dumps({"a": value}, protocol=2))
    for place, mask in flips:
        data[place % len(data)] ^= mask
    assert _outcome(bytes(data))
