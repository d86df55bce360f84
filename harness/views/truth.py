"""Ground truth beside the verdict: what was injected, what was expected of whom. Pure.

While a run goes on its scenario and the `faults.*` events are the source; afterwards
results.json is. Expected and found are compared by `checks` only: before that an
incident is "awaited", and after a kill "not judged" (DESIGN sec. 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.results import ExtraVerdict, FaultResult, IncidentResult
from harness.scenario import Expectation
from harness.views import wording
from harness.views.source import RunFacts
from injectors.fault import Parameters
from vocab.events import FaultFailed, FaultHealed, FaultInjected, FaultTriggered
from vocab.names import rank_name
from vocab.verdict import Kind, State


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRow:
    """One fault: what was planned, and the proof of what happened."""

    fault_id: str
    kind: str
    label: str
    color: str  # "" until the fault itself has said it
    targets: tuple[str, ...]
    planned: str
    status: str  # planned, triggered, injected, healed, failed, never fired
    step: int | None
    injected_at_s: float | None
    healed_at_s: float | None
    num_strikes: int | None
    changes: tuple[str, ...]
    residue: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow:
    """One expected incident beside the verdict that answered it."""

    kind: Kind
    state: State
    targets: tuple[str, ...]
    from_step: int
    by_step: int
    text: str
    status: str  # awaited, found, missed, not promised, not judged
    verdict_id: str
    found_step: int | None
    latency_s: float | None
    latency_text: str
    latency_steps: int | None
    latency_steps_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthView:
    """All faults, all expectations, and the verdicts that nobody expected."""

    faults: tuple[FaultRow, ...]
    expected: tuple[ExpectedRow, ...]
    extras: tuple[ExtraVerdict, ...]
    is_judged: bool


def truth(facts: RunFacts, *, is_final: bool) -> TruthView:
    """Put truth together from whatever there is."""
    results = facts.results
    if results is not None:
        expected = tuple(_judged(incident) for incident in results.incidents)
    else:
        status = "not judged" if is_final else "awaited"
        wanted = facts.scenario.expect if facts.scenario else ()
        expected = tuple(_awaited(item, status) for item in wanted)
    return TruthView(
        faults=_faults(facts, is_final=is_final),
        expected=expected,
        extras=results.extras if results else (),
        is_judged=results is not None,
    )


def _faults(facts: RunFacts, *, is_final: bool) -> tuple[FaultRow, ...]:
    planned = dict(facts.scenario.named_faults()) if facts.scenario else {}
    happened: dict[str, dict[str, Any]] = {}
    for timed in facts.events:
        if isinstance(timed.event, (FaultInjected, FaultHealed, FaultFailed,
                                    FaultTriggered)):  # fmt: skip
            _note(facts, happened.setdefault(timed.event.fault_id, {}), timed.at_ns,
                  timed.event)  # fmt: skip
    judged = {r.fault_id: r for r in (facts.results.faults if facts.results else ())}
    ids = dict.fromkeys([*planned, *judged, *happened])
    return tuple(
        _row(
            fault_id,
            planned.get(fault_id),
            happened.get(fault_id, {}),
            judged.get(fault_id),
            is_final=is_final,
        )
        for fault_id in ids
    )


def _note(
    facts: RunFacts,
    known: dict[str, Any],
    at_ns: int,
    event: FaultInjected | FaultHealed | FaultFailed | FaultTriggered,
) -> None:
    known["kind"] = event.kind
    if isinstance(event, FaultTriggered):
        known.setdefault("status", "triggered")
    elif isinstance(event, FaultFailed):
        known.update(status="failed", problem=event.reason)
    elif isinstance(event, FaultInjected):
        known.update(status="injected", color=event.color, label=event.label)
        known.setdefault("step", event.step)
        known.setdefault("targets", event.targets)
        known.setdefault("injected_at_s", facts.at_s(at_ns))
        known.setdefault(
            "changes",
            tuple(f"{c.what}: {c.before} → {c.after}" for c in event.changes),
        )
    else:
        known.update(
            status="healed",
            healed_at_s=facts.at_s(at_ns),
            num_strikes=event.num_strikes,
            residue=event.residue,
        )


def _row(
    fault_id: str,
    parameters: Parameters | None,
    known: dict[str, Any],
    judged: FaultResult | None,
    *,
    is_final: bool,
) -> FaultRow:
    status = known.get("status", "planned")
    if status in ("planned", "triggered") and is_final:
        status = "never fired"
    planned_targets = tuple(getattr(parameters, "targets", ()))
    kind = known.get("kind") or (parameters.kind if parameters else fault_id)
    return FaultRow(
        fault_id=fault_id,
        kind=kind,
        label=known.get("label", kind),
        color=known.get("color", ""),
        targets=known.get("targets", planned_targets),
        planned=_planned(parameters),
        status=status,
        step=judged.step if judged else known.get("step"),
        injected_at_s=known.get("injected_at_s"),
        healed_at_s=known.get("healed_at_s"),
        num_strikes=judged.num_strikes if judged else known.get("num_strikes"),
        changes=known.get("changes", ()),
        residue=known.get("residue", ""),
        problem=known.get("problem", judged.problem if judged else ""),
    )


def _planned(parameters: Parameters | None) -> str:
    if parameters is None:
        return ""
    first = getattr(parameters, "at_step", None)
    window = wording.steps(first, getattr(parameters, "until_step", None))
    lifetime = getattr(parameters, "lifetime", "")
    probability = getattr(parameters, "probability", None)
    chance = "" if probability is None else f", chance {probability:g} a step"
    return f"{lifetime} {window}{chance}".strip()


def _awaited(item: Expectation, status: str) -> ExpectedRow:
    targets = (*(rank_name(rank) for rank in item.ranks), *item.links)
    return ExpectedRow(
        kind=item.kind,
        state=item.state,
        targets=targets,
        from_step=item.from_step,
        by_step=item.by_step,
        text=_expectation(item.kind, item.state, targets, item.from_step, item.by_step),
        status=status,
        verdict_id="",
        found_step=None,
        latency_s=None,
        latency_text=wording.ABSENT,
        latency_steps=None,
        latency_steps_text=wording.ABSENT,
    )


def _judged(item: IncidentResult) -> ExpectedRow:
    return ExpectedRow(
        kind=item.kind,
        state=item.state,
        targets=item.targets,
        from_step=item.from_step,
        by_step=item.by_step,
        text=_expectation(
            item.kind, item.state, item.targets, item.from_step, item.by_step
        ),
        status="found"
        if item.found
        else "missed"
        if item.is_missed
        else "not promised",
        verdict_id=item.verdict_id or "",
        found_step=item.found_step,
        latency_s=item.latency_s,
        latency_text=wording.seconds(item.latency_s),
        latency_steps=item.latency_steps,
        latency_steps_text=wording.count(item.latency_steps, "step"),
    )


def _expectation(
    kind: Kind, state: State, targets: tuple[str, ...], first: int, last: int
) -> str:
    return f"{wording.incident(kind, state, targets)}, {wording.steps(first, last)}"
