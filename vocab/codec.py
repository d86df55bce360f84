"""Frozen dataclasses to JSON values and back, strictly (one codec for every event).

Enums become their value, tuples become lists, a float that JSON has no number for
becomes the string "NaN", "Infinity" or "-Infinity" (browsers refuse bare NaN).
Decoding names the field that is wrong; unknown fields are errors.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from vocab.errors import DecodeError

T = TypeVar("T")

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: Any) -> Any:
    """JSON value of a dataclass, enum, tuple, mapping, number, string or None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else _name_non_finite(value)
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, name)) for name in _fields(type(value))}
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def from_json(cls: type[T], data: Any, where: str = "") -> T:
    """Build `cls` (a dataclass) from a JSON object.

    Raises:
        DecodeError: a field is missing, unknown, or of another type; `where` and the
            field's name are in the message.
    """
    if not isinstance(data, Mapping):
        raise DecodeError(f"{where or cls.__name__}: expected an object, got {data!r}")
    hints = _fields(cls)
    unknown = [key for key in data if key not in hints]
    if unknown:
        raise DecodeError(
            f"{where or cls.__name__}: unknown field {unknown[0]!r}; "
            f"allowed: {', '.join(sorted(hints))}"
        )
    values = {
        name: _decode(hints[name], item, f"{where or cls.__name__}.{name}")
        for name, item in data.items()
    }
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise DecodeError(f"{where or cls.__name__}: {error}") from None


_CACHE: dict[type, dict[str, Any]] = {}


def _fields(cls: type) -> dict[str, Any]:
    if cls in _CACHE:
        return _CACHE[cls]
    hints = get_type_hints(cls)
    _CACHE[cls] = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    return _CACHE[cls]


def _name_non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decode(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(hint), value, where)
    if origin is tuple:
        return _decode_tuple(get_args(hint), value, where)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise DecodeError(f"{where}: expected an object, got {value!r}")
        inner = get_args(hint)[1]
        return {key: _decode(inner, item, where) for key, item in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _decode_enum(hint, value, where)
    return _decode_scalar(hint, value, where)


def _decode_union(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in choices:
        return None
    error: DecodeError | None = None
    for choice in choices:
        if choice is type(None):
            continue
        try:
            return _decode(choice, value, where)
        except DecodeError as caught:
            error = error or caught
    raise error or DecodeError(f"{where}: {value!r} fits none of {choices}")


def _decode_tuple(inner: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise DecodeError(f"{where}: expected a list, got {value!r}")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(
            _decode(inner[0], item, f"{where}[{i}]") for i, item in enumerate(value)
        )
    if len(inner) != len(value):
        raise DecodeError(f"{where}: expected {len(inner)} items, got {len(value)}")
    return tuple(
        _decode(kind, item, f"{where}[{i}]")
        for i, (kind, item) in enumerate(zip(inner, value, strict=True))
    )


def _decode_enum(hint: type[Enum], value: Any, where: str) -> Enum:
    try:
        return hint(value)
    except ValueError:
        allowed = ", ".join(repr(item.value) for item in hint)
        raise DecodeError(f"{where}: {value!r}; allowed: {allowed}") from None


def _decode_scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if hint is float:
        if isinstance(value, str) and value in _NON_FINITE:
            return _NON_FINITE[value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(value, hint):
        return value
    raise DecodeError(f"{where}: expected {hint.__name__}, got {value!r}")
