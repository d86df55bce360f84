"""Time several functions in turns, so that a busy machine slows all of them alike.

Used by the benchmarks. Absolute timings are noisy by a factor of two on shared cores;
ratios inside one run are much less so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def median_seconds(
    functions: Mapping[str, Callable[[], object]], *, rounds: int, calls: int = 1
) -> dict[str, float]:
    """Median seconds of one call of each function, after one call that is not counted.

    Args:
        rounds: how often each function has its turn.
        calls: calls per turn; many for functions near the clock's resolution.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls):
                function()
            seconds[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(values) for name, values in seconds.items()}
