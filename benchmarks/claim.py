"""One performance claim: a value, a baseline of the same run, a goal for the ratio.

Made by the benchmarks, printed by `registry`. Measures nothing itself.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One line of `faultyard bench`; None where something was not measured or asked."""

    name: str
    value: float
    unit: str
    baseline: float | None
    """What `value` is compared with, in `unit`, measured in the same run."""
    ratio: float | None
    """`value` / `baseline`."""
    goal: str | None
    """What `ratio` must be, such as ">= 0.3"; None: the claim only informs."""
    ok: bool | None
    """Whether `ratio` meets `goal`; None without either of them."""
    note: str
    """What the baseline is, or why there is none."""

    def json_line(self) -> str:
        """The claim as one line of JSON, without the newline."""
        return json.dumps(asdict(self), allow_nan=False)


def compared(
    *,
    name: str,
    value: float,
    unit: str,
    baseline: float | None,
    note: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Claim:
    """The claim that `value` / `baseline` is `at_least` or `at_most` a goal.

    Raises:
        ValueError: both goals are given, or `baseline` is not above 0.
    """
    if at_least is not None and at_most is not None:
        raise ValueError(f"{name} has at_least and at_most; allowed: one of them")
    if baseline is not None and baseline <= 0:
        raise ValueError(f"{name}: baseline is {baseline}; allowed: above 0, or None")
    ratio = None if baseline is None else value / baseline
    goal, ok = None, None
    if at_least is not None:
        goal, ok = f">= {at_least:g}", None if ratio is None else ratio >= at_least
    if at_most is not None:
        goal, ok = f"<= {at_most:g}", None if ratio is None else ratio <= at_most
    return Claim(
        name=name,
        value=value,
        unit=unit,
        baseline=baseline,
        ratio=ratio,
        goal=goal,
        ok=ok,
        note=note,
    )
