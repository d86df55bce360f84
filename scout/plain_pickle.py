"""Reads a pickle that holds plain data, and nothing else ever (issue 3).

Called by `scout.flight_dump`: dumps come from strangers' machines, and a pickle is a
program. This is no `pickle.Unpickler` with a filter but an interpreter of its own that
knows only the opcodes of containers and scalars: no global is ever looked up, nothing
is ever called, and memory stays in proportion to the file.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable
from typing import Any

Plain = Any
"""None, bool, int, float, str, list, tuple, or a dict with str keys."""

_SCALARS = frozenset(
    (
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT",
        "BINFLOAT", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
    )
)  # fmt: skip
_CONSTANTS: dict[str, Plain] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NO_EFFECT = frozenset(("PROTO", "FRAME"))
_PUT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_GET = frozenset(("GET", "BINGET", "LONG_BINGET"))
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
# What pickletools raises on bytes that are no pickle.
_NO_PICKLE = (ValueError, OverflowError, AssertionError, IndexError, struct.error)


def loads(data: bytes) -> Plain:
    """The value that a pickle holds.

    Raises:
        ValueError: truncated, no pickle at all, or more than plain data; names the
            opcode and its byte.
    """
    machine = _Machine()
    position = 0
    try:
        for opcode, argument, at in pickletools.genops(data):
            position = at or 0
            if opcode.name == "STOP":
                break
            machine.run(opcode.name, argument)
    except _Refused as error:
        raise ValueError(f"{error} at byte {position}") from None
    except _NO_PICKLE as error:
        raise ValueError(
            f"is no whole pickle: {error}, after byte {position}"
        ) from None
    if position + 1 != len(data):
        raise ValueError(
            f"has {len(data) - position - 1} bytes behind its end at byte {position}"
        )
    return machine.result()


class _Refused(Exception):
    """Something that plain data does not need."""


class _Machine:
    """A pickle machine without the opcodes that call or import."""

    def __init__(self) -> None:
        self._stack: list[Plain] = []
        self._below: list[list[Plain]] = []  # stacks under the marks
        self._memo: dict[int, Plain] = {}
        self._do: dict[str, Callable[[], None]] = {
            "MARK": self._mark,
            "EMPTY_LIST": lambda: self._push([]),
            "EMPTY_DICT": lambda: self._push({}),
            "EMPTY_TUPLE": lambda: self._push(()),
            "LIST": lambda: self._push(self._to_mark()),
            "TUPLE": lambda: self._push(tuple(self._to_mark())),
            "DICT": self._dict,
            "APPEND": lambda: self._extend([self._pop()]),
            "APPENDS": lambda: self._extend(self._to_mark()),
            "SETITEM": self._set_item,
            "SETITEMS": lambda: self._update(self._to_mark()),
            "MEMOIZE": lambda: self._memo.update({len(self._memo): self._top()}),
        }

    def run(self, name: str, argument: Any) -> None:
        """Execute one opcode."""
        if name in _SCALARS:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _PUT:
            self._memo[int(argument)] = self._top()
        elif name in _GET:
            if int(argument) not in self._memo:
                raise _Refused(f"asks for value {argument}, which was never kept,")
            self._stack.append(self._memo[int(argument)])
        elif name in _TUPLES:
            taken = [self._pop() for _ in range(_TUPLES[name])]
            self._stack.append(tuple(reversed(taken)))
        elif name in self._do:
            self._do[name]()
        elif name not in _NO_EFFECT:
            raise _Refused(f"holds more than plain data: opcode {name}")

    def result(self) -> Plain:
        """What is left at the end."""
        if len(self._stack) != 1 or self._below:
            raise ValueError("does not end with exactly one value")
        return self._stack[0]

    def _push(self, value: Plain) -> None:
        self._stack.append(value)

    def _top(self) -> Plain:
        if not self._stack:
            raise _Refused("takes a value where there is none")
        return self._stack[-1]

    def _pop(self) -> Plain:
        self._top()
        return self._stack.pop()

    def _mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Plain]:
        if not self._below:
            raise _Refused("takes values down to a mark that is not there")
        taken, self._stack = self._stack, self._below.pop()
        return taken

    def _extend(self, items: list[Plain]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise _Refused(f"appends to a {type(target).__name__}")
        target.extend(items)

    def _dict(self) -> None:
        items = self._to_mark()
        self._stack.append({})
        self._update(items)

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._update([key, value])

    def _update(self, items: list[Plain]) -> None:
        target = self._top()
        if not isinstance(target, dict) or len(items) % 2:
            raise _Refused(f"sets items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            # A deeply nested key would overflow the C stack when it is hashed.
            if not isinstance(key, str):
                raise _Refused(f"has a {type(key).__name__} as a key")
            target[key] = value
