"""What became of each fault of a scenario: struck, healed, or why not. Pure.

Called by `checks` and `case_measures`, on the ground-truth events (`faults.*`) that
detectors never read.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.clock import MergedClock
from harness.results import FaultResult
from harness.scenario import Scenario
from injectors.fault import Parameters, RankParameters
from vocab.events import (
    Change,
    FaultFailed,
    FaultHealed,
    FaultInjected,
    FaultTriggered,
    Stamped,
)
from vocab.verdict import Kind


def fault_results(
    scenario: Scenario, events: Sequence[Stamped], clock: MergedClock
) -> tuple[FaultResult, ...]:
    """One result per fault of the scenario, in its order."""
    return tuple(
        _result(
            fault_id,
            fault,
            [item for item in events if _fault_id(item) == fault_id],
            clock,
        )
        for fault_id, fault in scenario.named_faults()
    )


def cause_of(
    kind: Kind, targets: Sequence[str], by_step: int, faults: Sequence[FaultResult]
) -> FaultResult | None:
    """The fault that an incident is about: same manifestation, same targets.

    Of several, the last that struck no later than the incident's window closes.
    """
    named = set(targets)
    fitting = [
        fault
        for fault in faults
        if fault.injected
        and fault.kind.partition(".")[0] == kind.value
        and (not named or set(fault.targets) == named)
        and (fault.step is None or fault.step <= by_step)
    ]
    return max(fitting, key=lambda fault: fault.step or 0, default=None)


def _result(
    fault_id: str, fault: Parameters, events: list[Stamped], clock: MergedClock
) -> FaultResult:
    fired = _first(events, FaultInjected)
    healed = _first(events, FaultHealed)
    struck = fired.event if fired is not None else None
    cured = healed.event if healed is not None else None
    assert struck is None or isinstance(struck, FaultInjected)
    assert cured is None or isinstance(cured, FaultHealed)
    named = fault.targets if isinstance(fault, RankParameters) else ()
    return FaultResult(
        fault_id=fault_id,
        kind=fault.kind,
        label=struck.label if struck else fault.kind,
        color=struck.color if struck else "",
        targets=struck.targets if struck else named,
        injected=struck is not None,
        healed=cured is not None,
        step=struck.step if struck else None,
        injected_ns=clock.ns(fired) if fired is not None else None,
        healed_ns=clock.ns(healed) if healed is not None else None,
        num_strikes=cured.num_strikes if cured else None,
        changes=tuple(map(_describe, struck.changes)) if struck else (),
        residue=cured.residue if cured else "",
        problem=_problem(events, fired is not None),
    )


def _problem(events: list[Stamped], fired: bool) -> str:
    for stamped in events:
        if isinstance(stamped.event, FaultFailed):
            return stamped.event.reason
    if fired:
        return ""
    if _first(events, FaultTriggered) is not None:
        return "it was triggered, but nobody proved that it struck"
    return "it never struck: its step was not reached, or chance spared its window"


def _fault_id(stamped: Stamped) -> str | None:
    return getattr(stamped.event, "fault_id", None)


def _first(events: list[Stamped], kind: type) -> Stamped | None:
    return next((item for item in events if isinstance(item.event, kind)), None)


def _describe(change: Change) -> str:
    return f"{change.what}: {change.before} -> {change.after}"
