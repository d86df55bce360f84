"""All benchmarks, as one literal dict: name -> what yields its claims.

Called by `faultyard bench NAME`. Importing this imports no torch: benchmarks import
what they measure when they run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks import (
    cost,
    fabric_seeds,
    observer,
    overhead,
    progress,
    signature,
    simulator,
)
from benchmarks import run as run_time
from benchmarks.claim import Claim

BENCHMARKS: dict[str, Callable[[], Iterator[Claim]]] = {
    "cost": cost.claims,
    "fabric-seeds": fabric_seeds.claims,
    "observer": observer.claims,
    "overhead": overhead.claims,
    "progress": progress.claims,
    "run": run_time.claims,
    "signature": signature.claims,
    "simulator": simulator.claims,
}


def run(name: str) -> int:
    """Run one benchmark and print each claim as it is known, one JSON line each.

    Returns:
        0: every goal is met; 1: a goal is missed; 2: none is missed, but one could not
        be measured.

    Raises:
        ValueError: there is no benchmark of that name.
    """
    if name not in BENCHMARKS:
        allowed = ", ".join(sorted(BENCHMARKS))
        raise ValueError(f"benchmark is {name!r}; allowed: {allowed}")
    found: list[bool | None] = []
    for claim in BENCHMARKS[name]():
        sys.stdout.write(claim.json_line() + "\n")
        sys.stdout.flush()
        if claim.goal is not None:
            found.append(claim.ok)
    if False in found:
        return 1
    return 2 if None in found else 0
