"""One flight-recorder dump of PyTorch, read and checked field by field (issue 3).

Called by `harness.flight_folder` with a file's bytes. Pure. The format is that of
torch 2.13's FlightRecorder.hpp, version 2.10; a minor version only adds fields, so
every 2.x is read. Nothing in a dump is trusted: a wrong field is a `DumpError` that
names it, and texts reach messages only in a form that was checked.

    {"version": "2.10", "pg_config": {"0": {"name", "desc", "ranks": "[0, 1]"}},
     "entries": [{"record_id", "process_group": (name, desc), "collective_seq_id",
                  "profiling_name": "nccl:all_reduce", "state", "retired", ...}]}

gloo (torch 2.13) differs from NCCL, and dumps of both are read: it leaves `state` at
"scheduled" for ever and only sets `retired`, also after a timeout; its `pg_config` is
empty; it records no point-to-point operation, which only gaps in `op_id` betray.
"""

from __future__ import annotations

import json
import re
import reprlib
from dataclasses import dataclass
from typing import Any

from scout.errors import DumpError
from scout.fingerprint import ANY, NONE, Fingerprint
from scout.plain_pickle import loads

MAX_RANK = 131_071
MAX_ENTRIES = 1_000_000
_MAX_TENSORS, _MAX_DIMS = 65_536, 64
_MAX_INT = 2**63 - 1
STATES = ("scheduled", "started", "completed")

_VERSION = re.compile(r"2\.[0-9]{1,4}\Z")
_CALL = re.compile(
    r"(?P<backend>[A-Za-z0-9_]{1,32}):(?P<op>[A-Za-z0-9_]{1,64})"
    r"(?P<peers> [0-9]{1,9}(?:->|<-)[0-9]{1,9})?\Z"
)
_WORD = re.compile(r"[\w .:/,()\[\]-]{0,128}\Z")
_RANKS = re.compile(r"\[(?:[0-9]{1,6}(?:, ?[0-9]{1,6})*)?\]\Z")
_DTYPE = re.compile(r"[A-Za-z0-9_]{1,32}\Z")
_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "Int": "int32",
    "BFloat16": "bfloat16", "Long": "int64", "Short": "int16", "Char": "int8",
    "Byte": "uint8", "Bool": "bool",
}  # fmt: skip

# What healthy callers may legitimately differ in; torch's own tool skips the same.
_ROOT_HAS_INPUTS = ("scatter",)
_ROOT_HAS_OUTPUTS = ("gather",)
_UNEVEN = (
    "all_to_all", "all_to_all_single", "all_to_all_v_single", "all_gather_v",
    "reduce_scatter_v", "_broadcast_oop", "_reduce_oop",
)  # fmt: skip
COALESCED = "coalesced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One recorded operation of one rank."""

    record: int
    group: str  # name within torch
    desc: str
    backend: str
    call: str  # `all_reduce`, `send 0->1`
    number: int | None  # in the group's sequence; None: point to point
    num_unseen: int  # operations of the group before it that were not recorded (gloo)
    fingerprint: str
    created_ns: int  # wall clock
    left_ns: int | None  # wall clock; None: not done
    is_queued: bool  # known not to run yet: behind earlier work of its own device


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """Everything of one rank's dump that is used."""

    rank: int
    file: str
    version: str
    groups: dict[str, tuple[int, ...]]  # name -> global ranks; gloo tells none
    operations: tuple[Operation, ...]  # in recorded order
    has_holes: bool  # older or finished operations are not in it
    written_ns: int | None  # wall clock; None: not known

    @property
    def last_ns(self) -> int | None:
        """When it last entered or left anything; None: never."""
        times = [max(item.created_ns, item.left_ns or 0) for item in self.operations]
        return max(times, default=None)


def parse(data: bytes, *, file: str, rank: int, written_ns: int | None = None) -> Dump:
    """Read a dump, pickle or JSON.

    Args:
        file: its name, for messages.
        written_ns: wall time at which it was written.

    Raises:
        DumpError: truncated, hostile, of an unknown version, or with a wrong field.
    """
    fields = _Fields(file, "", _load(data, file))
    version = fields.text("version", _VERSION, "2.x")
    groups = {
        name: _ranks(fields.at("pg_config").at(name))
        for name in fields.at("pg_config").names()
    }
    entries = fields.items("entries", MAX_ENTRIES) if fields.has("entries") else []
    is_timed = any(item.integer("time_discovered_started_ns", 0) for item in entries)
    operations = [_operation(item, is_timed=is_timed) for item in entries]
    operations.sort(key=lambda item: item.record)
    records = [item.record for item in operations]
    if len(set(records)) != len(records):
        raise DumpError(file, "entries", "a record_id stands twice")
    return Dump(
        rank=rank,
        file=file,
        version=version,
        # gloo writes one nameless group over and over: it tells nothing.
        groups={name: ranks for name, ranks in groups.items() if name and ranks},
        operations=tuple(operations),
        has_holes=records != list(range(len(records))),
        written_ns=written_ns,
    )


def _load(data: bytes, file: str) -> Any:
    if not data:
        raise DumpError(file, "file", "is empty")
    try:
        if data.lstrip()[:1] == b"{":
            return json.loads(data)
        return loads(data)
    except (ValueError, RecursionError) as error:
        raise DumpError(file, "file", f"{error}") from None


class _Fields:
    """A mapping inside a dump, which checks what is taken out of it."""

    def __init__(self, file: str, path: str, value: Any) -> None:
        self._file = file
        self._path = path
        if not isinstance(value, dict):
            raise self.wrong("", value, "a mapping")
        self._value: dict[str, Any] = value

    def wrong(self, name: str, value: Any, allowed: str) -> DumpError:
        field = ".".join(part for part in (self._path, name) if part) or "dump"
        return DumpError(self._file, field, f"is {reprlib.repr(value)}", allowed)

    def names(self) -> list[str]:
        return list(self._value)

    def has(self, name: str) -> bool:
        return name in self._value

    def get(self, name: str) -> Any:
        if name not in self._value:
            field = f"{self._path}.{name}".lstrip(".")
            raise DumpError(self._file, field, "is not there")
        return self._value[name]

    def at(self, name: str) -> _Fields:
        path = f"{self._path}.{reprlib.repr(name)}" if self._path else name
        return _Fields(self._file, path, self.get(name))

    def items(self, name: str, most: int) -> list[_Fields]:
        values = self.get(name)
        if not isinstance(values, list) or len(values) > most:
            raise self.wrong(name, values, f"a list of at most {most}")
        return [
            _Fields(self._file, f"{name}[{index}]", value)
            for index, value in enumerate(values)
        ]

    def text(self, name: str, form: re.Pattern[str], allowed: str) -> str:
        value = self.get(name)
        if not isinstance(value, str) or not form.match(value):
            raise self.wrong(name, value, allowed)
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number of 0 or more; None and absence are the default."""
        if default is not None and self._value.get(name) is None:
            return default
        value = self.get(name)
        if type(value) is not int or not 0 <= value <= _MAX_INT:
            raise self.wrong(name, value, "a whole number from 0 to 2^63 - 1")
        return value

    def boolean(self, name: str) -> bool:
        """Absent is False: older versions do not have it."""
        value = self._value.get(name, False)
        if type(value) is not bool:
            raise self.wrong(name, value, "true or false")
        return value


def _ranks(group: _Fields) -> tuple[int, ...]:
    value = group.get("ranks")
    if isinstance(value, str) and _RANKS.match(value):
        value = json.loads(value)
    if (
        not isinstance(value, list)
        or not all(type(rank) is int and 0 <= rank <= MAX_RANK for rank in value)
        or len(set(value)) != len(value)
    ):
        raise group.wrong("ranks", value, f"distinct ranks, 0 to {MAX_RANK}")
    return tuple(sorted(value))


def _operation(entry: _Fields, *, is_timed: bool) -> Operation:
    name = entry.text(
        "profiling_name", _CALL, "backend:operation, or backend:send 0->1"
    )
    match = _CALL.match(name)
    assert match is not None
    op, backend, peers = match["op"], match["backend"], match["peers"] or ""
    group, desc = _group(entry)
    state = entry.get("state")
    if state not in STATES:
        raise entry.wrong("state", state, ", ".join(STATES))
    created_ns = entry.integer("time_created_ns")
    left_ns: int | None = None
    # A retired NCCL operation that is not completed has timed out.
    if state == "completed" or (backend == "gloo" and entry.boolean("retired")):
        left_ns = entry.integer("time_discovered_completed_ns", 0) or created_ns
    is_p2p = bool(peers) or entry.boolean("is_p2p")
    number = entry.integer("collective_seq_id")
    return Operation(
        record=entry.integer("record_id"),
        group=group,
        desc=desc,
        backend=backend,
        call=op + peers,
        number=None if is_p2p else number,
        num_unseen=_num_unseen(entry, number) if backend == "gloo" else 0,
        fingerprint=_fingerprint(entry, op),
        created_ns=created_ns,
        left_ns=left_ns,
        # Without start events (TORCH_NCCL_ENABLE_TIMING) everything stays "scheduled".
        is_queued=is_timed and state == "scheduled" and left_ns is None,
    )


def _group(entry: _Fields) -> tuple[str, str]:
    value = entry.get("process_group")
    if (
        not isinstance(value, (list, tuple))
        or len(value) != 2
        or not all(isinstance(part, str) and _WORD.match(part) for part in value)
    ):
        raise entry.wrong("process_group", value, "a pair of short texts: name, desc")
    return value[0], value[1]


def _num_unseen(entry: _Fields, number: int) -> int:
    return max(0, entry.integer("op_id", number) - number)


def _fingerprint(entry: _Fields, op: str) -> str:
    inputs = _sizes(entry, "input_sizes"), _dtypes(entry, "input_dtypes")
    outputs = _sizes(entry, "output_sizes"), _dtypes(entry, "output_dtypes")
    if op in _UNEVEN or op == COALESCED:
        shape, dtype = ANY, ANY if op == COALESCED else inputs[1]
    elif op in _ROOT_HAS_INPUTS:
        shape, dtype = outputs
    elif op in _ROOT_HAS_OUTPUTS or inputs[0] == outputs[0]:
        shape, dtype = inputs
    else:
        shape, dtype = f"{inputs[0]}->{outputs[0]}", inputs[1]
    # Reduction and root are not recorded: a difference in them cannot be seen here.
    return str(Fingerprint(op=op, reduction=ANY, dtype=dtype, shape=shape, root=ANY))


def _sizes(entry: _Fields, name: str) -> str:
    value = entry.get(name)
    if (
        not isinstance(value, list)
        or len(value) > _MAX_TENSORS
        or not all(
            isinstance(dims, list)
            and len(dims) <= _MAX_DIMS
            and all(type(size) is int and 0 <= size <= _MAX_INT for size in dims)
            for dims in value
        )
    ):
        raise entry.wrong(name, value, "a list of tensor shapes")
    return "".join(str(dims).replace(" ", "") for dims in value) or NONE


def _dtypes(entry: _Fields, name: str) -> str:
    value = entry.get(name) if entry.has(name) else []
    if (
        not isinstance(value, list)
        or len(value) > _MAX_TENSORS
        or not all(isinstance(item, str) and _DTYPE.match(item) for item in value)
    ):
        raise entry.wrong(name, value, "a list of names of dtypes")
    names = [_DTYPES.get(str(item), str(item)) for item in value]
    return "+".join(dict.fromkeys(names)) or NONE
