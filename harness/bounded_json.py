"""JSON of files that anybody may have written, within what the rest can hold.

Called by `store` and `events`. Numbers that no index, clock or float can hold, text
that is no Unicode and nesting without end are refused here, once, as `ValueError`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_INT = 2**63 - 1
MAX_SIGNATURE = 2**64 - 1
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def loads(data: bytes, *, max_int: int = MAX_INT) -> Any:
    """The value of a JSON text.

    Args:
        max_int: largest integer of either sign; 64-bit signatures need `MAX_SIGNATURE`.

    Raises:
        ValueError: no JSON in UTF-8, nested too deep, or out of these bounds.
    """

    def whole(text: str) -> int:
        # Compared by length first: int() of thousands of digits is refused by Python.
        if len(text) > 20 or abs(number := int(text)) > max_int:
            raise ValueError(f"number is {text[:24]}; allowed: up to {max_int}")
        return number

    text = data.decode("utf-8")
    try:
        if _LONG_NUMBER.search(data):  # rare: the plain parser is faster
            value = json.loads(text, parse_int=whole)
        else:
            value = json.loads(text)
        if _SURROGATE.search(data):  # pairs are text, half of one is not
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


def hold_finite(name: str, value: float | None) -> None:
    """Refuse a duration that is no number.

    Raises:
        ValueError: it is infinite or NaN.
    """
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{name} is {value}; allowed: seconds")
