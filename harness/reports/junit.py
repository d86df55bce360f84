"""One run as JUnit XML, for the pages of CI systems. Pure.

    one test case per expected incident, one for "no extra verdict",
    two per fault (fired, healed), one for the run itself
    an analysis of evidence that was brought along: one per verdict

Called by `harness.report`. A fault that never fired fails its own case, and what was
expected of it is skipped: it is no miss of the detector (DESIGN sec. 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from harness.results import Outcome
from harness.store import ANALYSIS
from harness.views import wording
from harness.views.cards import VerdictCard
from harness.views.run import RunView
from harness.views.truth import ExpectedRow, FaultRow
from vocab.verdict import State

_DEAD = (Outcome.INFRASTRUCTURE, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case; `verdict` is passed, failure, error or skipped."""

    classname: str
    name: str
    verdict: str
    message: str = ""


def render(view: RunView) -> bytes:
    """The report as UTF-8 XML."""
    found = cases(view)
    attributes = {
        "name": f"faultyard.{view.origin.scenario_name or 'run'}",
        "tests": str(len(found)),
        "failures": str(sum(case.verdict == "failure" for case in found)),
        "errors": str(sum(case.verdict == "error" for case in found)),
        "skipped": str(sum(case.verdict == "skipped" for case in found)),
        "timestamp": view.origin.created.removesuffix("Z"),
        "hostname": view.origin.host or "unknown",
    }
    wall = next(fact.value for fact in view.facts if fact.name == "wall_s")
    if wall is not None:
        attributes["time"] = f"{wall:.3f}"
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", attributes)
    _properties(suite, view)
    for case in found:
        element = ET.SubElement(
            suite, "testcase", classname=case.classname, name=case.name
        )
        if case.verdict != "passed":
            ET.SubElement(element, case.verdict, message=clean(case.message))
    output = ET.SubElement(suite, "system-out")
    output.text = clean("\n".join(f"{c.headline}. {c.why}" for c in view.cards))
    ET.indent(suites)
    text: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def cases(view: RunView) -> list[Case]:
    """All test cases of a run."""
    if view.kind == ANALYSIS:
        return [_analysis_case(card) for card in view.cards]
    fired = all(fault.status in ("injected", "healed") for fault in view.truth.faults)
    found = [_run_case(view)]
    for fault in view.truth.faults:
        found += _fault_cases(fault)
    found += [_expected_case(item, view, fired=fired) for item in view.truth.expected]
    found.append(_extra_case(view))
    return found


def _analysis_case(card: VerdictCard) -> Case:
    name = f"nothing is stuck in {card.group or 'any group'}"
    if card.state is State.HEALTHY:
        return Case(classname="analysis", name=name, verdict="passed")
    return Case(classname="analysis", name=name, verdict="failure",
                message=f"{card.headline}. {card.why}")  # fmt: skip


def _run_case(view: RunView) -> Case:
    name = "the run completed and was judged"
    if view.outcome is None or view.outcome in _DEAD:
        message = f"{view.outcome_text}: {view.outcome_reason or view.liveness.text}"
        return Case(classname="run", name=name, verdict="error", message=message)
    return Case(classname="run", name=name, verdict="passed")


def _fault_cases(fault: FaultRow) -> list[Case]:
    fired = fault.status in ("injected", "healed")
    healed = fault.status == "healed"
    place = f"{fault.fault_id} on {', '.join(fault.targets) or 'nothing'}"
    message = f"{fault.status}: {fault.problem}".rstrip(": ")
    return [
        Case(classname="fault", name=f"{place} fired",
             verdict="passed" if fired else "failure", message=message),
        Case(classname="fault", name=f"{place} healed",
             verdict="passed" if healed else "failure" if fired else "skipped",
             message=message),
    ]  # fmt: skip


def _expected_case(item: ExpectedRow, view: RunView, *, fired: bool) -> Case:
    if item.status == "found":
        return Case(classname="expected", name=item.text, verdict="passed")
    blamed = "; ".join(card.headline for card in view.cards)
    message = f"{item.status}; found: {blamed}"
    if item.status == "missed" and fired:
        return Case(classname="expected", name=item.text, verdict="failure",
                    message=message)  # fmt: skip
    return Case(classname="expected", name=item.text, verdict="skipped",
                message=message)  # fmt: skip


def _extra_case(view: RunView) -> Case:
    name = "no verdict beyond what is expected"
    if not view.truth.is_judged:
        return Case(classname="expected", name=name, verdict="skipped",
                    message=view.outcome_text)  # fmt: skip
    extras = view.truth.extras
    if not extras:
        return Case(classname="expected", name=name, verdict="passed")
    blamed = "; ".join(
        f"{wording.incident(e.kind, e.state, e.blamed)}: {e.reason}" for e in extras
    )
    return Case(classname="expected", name=name, verdict="failure", message=blamed)


def _properties(suite: ET.Element, view: RunView) -> None:
    properties = ET.SubElement(suite, "properties")
    pairs = {
        "run_id": view.run_id,
        "outcome": view.outcome_text,
        "command": view.origin.command,
        "commit": view.origin.commit,
        "seed": "unknown" if view.origin.seed is None else str(view.origin.seed),
        **{fact.name: fact.text for fact in view.facts},
    }
    for card in view.cards:
        if card.verdict_id:
            pairs[f"verdict.{card.verdict_id}"] = f"{card.headline}. {card.why}"
            if card.statistic:
                s = card.statistic
                pairs[f"statistic.{card.verdict_id}"] = (
                    f"{s.name} {s.value_text}, threshold {s.threshold_text}"
                )
    for name, value in pairs.items():
        ET.SubElement(properties, "property", name=name, value=clean(value))


def clean(text: str) -> str:
    """Without the control characters that XML 1.0 cannot carry (sec. 2.2)."""
    return "".join(char for char in text if char >= " " or char in "\t\n")
