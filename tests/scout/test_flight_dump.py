"""One dump, read field by field: what is taken, and how a wrong field is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scout.errors import DumpError
from scout.flight_dump import Dump, Operation, parse
from tests.scout.dump_builder import START_NS, WORLD, content, entry, pickled


def read(value: Any, **more: Any) -> Dump:
    return parse(pickled(value), file="rank_3", rank=3, **more)


def one(**more: Any) -> Operation:
    (operation,) = read(content([entry(0, 1, **more)])).operations
    return operation


def test_the_whole_of_a_dump() -> None:
    found = read(content([entry(0, 1)], {WORLD: range(4)}), written_ns=7)
    assert found == Dump(
        rank=3,
        file="rank_3",
        version="2.10",
        groups={"0": (0, 1, 2, 3)},
        operations=(
            Operation(
                record=0,
                group="0",
                desc="default_pg",
                backend="nccl",
                call="all_reduce",
                number=1,
                num_unseen=0,
                fingerprint="all_reduce|*|float32|[1024]|root=*",
                created_ns=START_NS,
                left_ns=START_NS + 500,
                is_queued=False,
            ),
        ),
        has_holes=False,
        written_ns=7,
    )


def test_json_and_pickle_of_one_dump_are_read_alike() -> None:
    value = content([entry(0, 1), entry(1, 2, state="started")], {WORLD: range(2)})
    as_json = json.dumps(value).encode()
    assert parse(as_json, file="rank_3", rank=3) == read(value)


def test_a_json_dump_without_entries_is_an_empty_one() -> None:
    value = content([])
    del value["entries"]  # torch leaves them out where there are none
    assert parse(json.dumps(value).encode(), file="f", rank=0).operations == ()


# --- done, pending, queued ------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "is_done"),
    [
        ({"state": "completed"}, True),
        ({"state": "started"}, False),
        ({"state": "scheduled"}, False),
        # A retired NCCL operation that is not completed has timed out.
        ({"state": "started", "retired": True}, False),
        ({"backend": "gloo", "state": "scheduled", "retired": True}, True),
        ({"backend": "gloo", "state": "scheduled", "retired": False}, False),
    ],
)
def test_when_an_operation_is_done(fields: dict[str, Any], is_done: bool) -> None:
    assert (one(**fields).left_ns is not None) is is_done


def test_scheduled_means_queued_only_where_starts_are_recorded() -> None:
    timed = entry(0, 1, time_discovered_started_ns=START_NS + 1)
    waits = entry(1, 2, state="scheduled")
    assert [o.is_queued for o in read(content([timed, waits])).operations] == [0, 1]
    assert not one(state="scheduled").is_queued


# --- fingerprints ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "fingerprint"),
    [
        ({"dtype": "BFloat16"}, "all_reduce|*|bfloat16|[1024]|root=*"),
        ({"op": "all_gather", "shape": (2,), "outputs": (4, 2)},
         "all_gather|*|float32|[2]->[4,2]|root=*"),
        ({"op": "gather", "shape": (2,), "outputs": (4, 2)},
         "gather|*|float32|[2]|root=*"),
        ({"op": "scatter", "shape": (4, 2), "outputs": (2,)},
         "scatter|*|float32|[2]|root=*"),
        ({"op": "all_to_all", "shape": (5,), "outputs": (9,)},
         "all_to_all|*|float32|*|root=*"),
        ({"op": "barrier", "input_sizes": [], "output_sizes": [], "input_dtypes": []},
         "barrier|*|-|-|root=*"),
        ({"dtype": "Float8_e4m3fn"}, "all_reduce|*|Float8_e4m3fn|[1024]|root=*"),
    ],
)  # fmt: skip
def test_what_callers_must_agree_on(fields: dict[str, Any], fingerprint: str) -> None:
    assert one(**fields).fingerprint == fingerprint


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_root_and_others_have_one_fingerprint(op: str) -> None:
    lists = {"input": op == "scatter", "output": op == "gather"}
    other = {
        key: value
        for side, is_empty in lists.items()
        if is_empty
        for key, value in ((f"{side}_sizes", []), (f"{side}_dtypes", []))
    }
    shape, outputs = ((4, 2), (2,)) if op == "scatter" else ((2,), (4, 2))
    root = one(op=op, shape=shape, outputs=outputs)
    assert (
        root.fingerprint
        == one(op=op, shape=shape, outputs=outputs, **other).fingerprint
    )


def test_point_to_point_has_no_number_in_the_sequence() -> None:
    assert (one(op="send 0->1").number, one(op="send 0->1").call) == (None, "send 0->1")
    assert one(op="coalesced", is_p2p=True).number is None


def test_gloo_operations_that_were_not_recorded_show_as_a_gap() -> None:
    assert one(backend="gloo", op_id=4).num_unseen == 3
    assert one(backend="nccl", op_id=4).num_unseen == 0


# --- errors ---------------------------------------------------------------------------


def _set(field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(dump: dict[str, Any]) -> None:
        dump["entries"][1][field] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.pop("version"), "rank_3: version: is not there"),
        (lambda d: d.update(version="3.1"), "rank_3: version: is '3.1'; allowed: 2.x"),
        (lambda d: d.update(version="1.5"), "rank_3: version: is '1.5'; allowed: 2.x"),
        (lambda d: d.update(version=2.1), "rank_3: version: is 2.1"),
        (lambda d: d.pop("pg_config"), "rank_3: pg_config: is not there"),
        (lambda d: d.update(pg_config=[]), "rank_3: pg_config: is []; allowed: a mapp"),
        (lambda d: d["pg_config"]["0"].update(ranks="[0, -1]"),
         "rank_3: pg_config.'0'.ranks: is '[0, -1]'"),
        (lambda d: d["pg_config"]["0"].update(ranks="[0, 0]"), "allowed: distinct"),
        (lambda d: d["pg_config"]["0"].update(ranks="exit()"), "is 'exit()'"),
        (lambda d: d["pg_config"]["0"].update(ranks=[999999]), "0 to 131071"),
        (lambda d: d.update(entries={}), "rank_3: entries: is {}; allowed: a list"),
        (lambda d: d["entries"].append(7), "entries[2]: is 7; allowed: a mapping"),
        (_set("record_id", 0), "entries: a record_id stands twice"),
        (_set("record_id", True), "entries[1].record_id: is True"),
        (_set("collective_seq_id", -1), "entries[1].collective_seq_id: is -1"),
        (_set("collective_seq_id", 2**63), "allowed: a whole number from 0 to 2^63"),
        (_set("state", "done"), "entries[1].state: is 'done'; allowed: scheduled, "),
        (_set("profiling_name", "all_reduce"), "entries[1].profiling_name"),
        (_set("profiling_name", "nccl:a|b"), "entries[1].profiling_name"),
        (_set("process_group", "0"), "entries[1].process_group: is '0'"),
        (_set("process_group", ("0", "x\x1b[2J")), "entries[1].process_group"),
        (_set("input_sizes", [[-1]]), "entries[1].input_sizes"),
        (_set("output_sizes", [7]), "entries[1].output_sizes: is [7]; allowed: a li"),
        (_set("input_dtypes", ["<b>"]), "entries[1].input_dtypes"),
        (_set("time_created_ns", 1.5), "entries[1].time_created_ns: is 1.5"),
        (_set("is_p2p", 1), "entries[1].is_p2p: is 1; allowed: true or false"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(
    change: Callable[[dict[str, Any]], object], told: str
) -> None:
    value = content([entry(0, 1), entry(1, 2)], {WORLD: range(4)})
    change(value)
    with pytest.raises(DumpError) as caught:
        read(value)
    assert told in str(caught.value)
    assert caught.value.file == "rank_3"


@pytest.mark.parametrize("field", sorted(set(entry(0, 1)) - {
    "frames", "pg_id", "thread_name", "thread_id", "p2p_seq_id", "timeout_ms",
    "op_id", "is_p2p", "retired", "input_dtypes", "output_dtypes",
    "time_discovered_started_ns", "time_discovered_completed_ns",
}))  # fmt: skip
def test_a_needed_field_that_is_not_there_is_named(field: str) -> None:
    broken = entry(0, 1)
    del broken[field]
    with pytest.raises(DumpError, match=rf"entries\[0\]\.{field}: is not there"):
        read(content([broken]))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "file: is empty"),
        (b"hello", "file: "),
        (b"{", "file: "),
        (b"[1]", "file: "),
        (b'{"a":' + b"[" * 200_000, "file: "),
        (b'{"version": "2.10", "pg_config": ' + b"9" * 5000 + b"}", "file: "),
        (pickled(7), "dump: is 7; allowed: a mapping"),
    ],
)
def test_what_is_no_dump_is_named(data: bytes, told: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse(data, file="rank_3", rank=3)
    assert str(caught.value).startswith(f"rank_3: {told}")
    assert len(str(caught.value)) < 300


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=500)
@given(
    place=st.sampled_from(["dump", "pg_config", "entry"]),
    name=st.sampled_from([*entry(0, 1), *content([]), "0", "ranks", "new"]),
    value=VALUES,
    form=st.sampled_from(["pickle", "json"]),
)
def test_any_value_in_any_field_is_read_or_named(
    place: str, name: str, value: Any, form: str
) -> None:
    whole = content([entry(0, 1), entry(1, 2)], {WORLD: range(4)})
    part = {
        "dump": whole, "pg_config": whole["pg_config"]["0"],
        "entry": whole["entries"][1],
    }[place]  # fmt: skip
    part[name] = value
    data = pickled(whole) if form == "pickle" else json.dumps(whole).encode()
    told = "rank_3: read"
    try:
        parse(data, file="rank_3", rank=3)
    except DumpError as error:
        told = str(error)
    assert told.startswith("rank_3: ")
    assert len(told) < 500
