"""How numbers, names and absences are written, the same on every surface.

Used by all views. A missing value is "not measured", never 0 (DESIGN sec. 2.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from vocab.verdict import Kind, State

ABSENT = "not measured"
NOBODY = "nobody"
_KINDS = {Kind.SDC: "SDC"}  # the others are words already


def seconds(value: float | None) -> str:
    """A duration with its unit: `350 µs`, `12.3 ms`, `1.25 s`, `3 min 20 s`."""
    if value is None:
        return ABSENT
    size = abs(value)
    if size >= 7200:
        hours, rest = divmod(round(value / 60), 60)
        return f"{hours} h {rest} min"
    if size >= 120:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s"
    if size >= 1 or size == 0:
        return f"{value:.3g} s" if size < 100 else f"{value:.0f} s"
    if size >= 1e-3:
        return f"{value * 1e3:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def number(value: float | None, unit: str = "") -> str:
    """A figure with its unit, four significant digits; seconds as `seconds` does."""
    if value is None:
        return ABSENT
    if unit == "s":
        return seconds(value)
    text = f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
    if value == 1 and len(unit) > 2:  # "peers", but not "ms"
        unit = unit.removesuffix("s")
    return f"{text} {unit}".rstrip()


def count(value: int | None, noun: str) -> str:
    """`1 check`, `3 checks`; absent stays absent."""
    if value is None:
        return ABSENT
    return f"{value} {noun}" if value == 1 else f"{value} {noun}s"


def k_of_n(k: int, n: int) -> str:
    """A vote: `3 of 4`."""
    return f"{k} of {n}"


def names(values: Sequence[str], absent: str = NOBODY) -> str:
    """`rank1, rank2 and rank5`; `absent` for none."""
    if not values:
        return absent
    if len(values) == 1:
        return values[0]
    return f"{', '.join(values[:-1])} and {values[-1]}"


def incident(kind: Kind, state: State, targets: Sequence[str]) -> str:
    """What is blamed on whom: `SDC of rank2`, `SDC of nobody (group scoped)`."""
    word = _KINDS.get(kind, kind.value)
    manner = "" if state is State.ATTRIBUTED else f" ({state.value.replace('_', ' ')})"
    return f"{word} of {names(targets)}{manner}"


def steps(first: int | None, last: int | None) -> str:
    """A window of steps: `step 5`, `steps 5 to 8`, `from step 5`."""
    if first is None:
        return "at no step"
    if last is None:
        return f"from step {first}"
    return f"step {first}" if first == last else f"steps {first} to {last}"


def utc(wall_ns: int) -> str:
    """Wall-clock time, ISO 8601 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def sentence(text: str) -> str:
    """The text with a capital first and a full stop last; "" stays empty."""
    text = text.strip()
    if not text:
        return ""
    # "rank2" and "hidden.forward" are names and keep their small letter.
    first = text.split(" ", 1)[0].rstrip(".,:;")
    if first.isalpha():
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else f"{text}."
