"""What a fault must be found as, where nobody wrote an expectation. Pure.

    fault of a command line ─► Expectation, as shipped scenarios state it for its kind

Called for a user's own script, whose length nobody knows: a window ends with the run.
Where the coverage contract promises nothing, the verdict may come or not, and nobody
else may be blamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.scenario import Expectation
from injectors.fault import Parameters, RankParameters
from vocab.verdict import Kind, State

NOBODY = ("null", "contention.neighbour", "observer.kill", "network.disconnect")
"""Faults after which nobody may be blamed."""

_MIN_RANKS = 3
"""Ranks among which a minority can be named (SCOUT sec. 4)."""

_PASSING = ("sdc.activation", "sdc.gradient")
"""Faults of values on their way: unless persistent they may leave nothing behind."""


def expected_of(
    faults: Sequence[Parameters], *, num_ranks: int, steps: int
) -> tuple[Expectation, ...]:
    """One expectation per fault that somebody must be found for."""
    found = (_of(fault, num_ranks, steps) for fault in faults)
    return tuple(item for item in found if item is not None)


def _of(fault: Parameters, num_ranks: int, steps: int) -> Expectation | None:
    if fault.kind in NOBODY or not isinstance(fault, RankParameters):
        return None
    kind = Kind(fault.kind.partition(".")[0])
    compares = kind in (Kind.SDC, Kind.STRAGGLER)
    if compares and num_ranks == 1:
        return None  # nobody to compare with
    is_named = _names_somebody(fault) and not (compares and num_ranks < _MIN_RANKS)
    return Expectation(
        kind=kind,
        state=State.ATTRIBUTED if is_named else State.GROUP_SCOPED,
        ranks=(fault.rank,) if is_named else (),
        from_step=fault.at_step,
        by_step=fault.at_step if kind is Kind.CRASH else max(steps, fault.at_step),
        outside_coverage=_is_outside(fault),
    )


def _names_somebody(fault: RankParameters) -> bool:
    if fault.kind == "hang.equal_progress":
        return False
    return not _is_inside_a_collective(fault)


def _is_inside_a_collective(fault: RankParameters) -> bool:
    is_collective = fault.kind == "straggler.collective"
    return is_collective and getattr(fault, "where", "") == "inside"


def _is_outside(fault: RankParameters) -> bool:
    """Whether the contract promises nothing for it in a script."""
    if fault.kind == "straggler.collective":
        return True  # only a loop that shows its batches tells who is late
    return fault.kind in _PASSING and fault.lifetime != "persistent"
