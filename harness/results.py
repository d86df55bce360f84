"""Phase 3 of a run: what was expected beside what was found (DESIGN sec. 2.4, 2.5).

Only values; `checks` computes them, `store` keeps them as results.json, and every page,
report and exit code reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vocab.verdict import Kind, State


class Outcome(StrEnum):
    """How a run ended; the six never merge."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_INJECTED = "not-injected"
    INFRASTRUCTURE = "infrastructure-error"
    CANCELLED = "cancelled"


EXIT_CODES: dict[Outcome, int] = {
    Outcome.PASS: 0,
    Outcome.FAIL: 1,
    Outcome.INCONCLUSIVE: 2,
    Outcome.NOT_INJECTED: 2,
    Outcome.CANCELLED: 2,
    Outcome.INFRASTRUCTURE: 3,
}
EXIT_USAGE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultResult:
    """One fault of the scenario: did it fire, did it heal."""

    fault_id: str
    kind: str
    label: str
    color: str
    targets: tuple[str, ...]
    injected: bool
    healed: bool
    step: int | None
    injected_ns: int | None  # merged wall time, nanoseconds
    healed_ns: int | None
    num_strikes: int | None
    changes: tuple[str, ...]  # "what: before -> after"
    residue: str
    problem: str  # why it did not fire; "" where it did


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentResult:
    """One expected incident and the verdict that matched it, if any."""

    kind: Kind
    state: State
    targets: tuple[str, ...]  # names that must be blamed, exactly
    from_step: int
    by_step: int
    found: bool
    verdict_id: str | None
    found_step: int | None
    latency_s: float | None  # injection to verdict; None: not measured
    latency_steps: int | None
    outside_coverage: bool = False  # need not be found

    @property
    def is_missed(self) -> bool:
        """Whether a verdict that was promised did not come."""
        return not self.found and not self.outside_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraVerdict:
    """A verdict that no expected incident accounts for: an error of the detector."""

    verdict_id: str
    kind: Kind
    state: State
    blamed: tuple[str, ...]
    step: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomResult:
    """What the faults should do to the job, and what they did, in words."""

    expected: str
    observed: str
    as_expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The whole of results.json."""

    outcome: Outcome
    reason: str
    incidents: tuple[IncidentResult, ...]
    extras: tuple[ExtraVerdict, ...]
    faults: tuple[FaultResult, ...]
    problems: tuple[str, ...]  # disabled detectors, unreadable lines, dead processes
    steps_done: tuple[int, ...]  # per rank
    num_checks: int
    num_verdicts: int
    wall_s: float | None
    first_step_s: float | None
    symptom: SymptomResult | None = (
        None  # None: the scenario expects none in particular
    )
    format: int = 1
