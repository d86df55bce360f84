"""A qualification in the output format of OCP Test & Validation, JSONL, 2.0. Pure.

    schemaVersion
    testRunStart                       the suite; the machine as dutInfo
      testStep per fault class         a measurement per figure, with its limits
      ...                              a diagnosis per criterion; a log line per bad run
    testRunEnd                         PASS or FAIL; inconclusive is NOT_APPLICABLE

Specification: opencomputeproject/ocp-diag-core, json_spec/output. Every line carries
its sequence number and a time. What was not measured is a log line: a measurement
without a value would be none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.criteria import Ruling
from harness.qualification import Qualification
from harness.qualification_figures import ClassRow, Figure
from harness.qualification_rulings import ALL_CASES, Judgement

DUT = "machine"
_RESULTS = {Ruling.PASS: "PASS", Ruling.FAIL: "FAIL",
            Ruling.INCONCLUSIVE: "NOT_APPLICABLE"}  # fmt: skip
_TYPES = {Ruling.PASS: "PASS", Ruling.FAIL: "FAIL", Ruling.INCONCLUSIVE: "UNKNOWN"}
_BAD = ("fail", "infrastructure-error", "not-injected", "cancelled", "inconclusive")


def render(report: Qualification) -> bytes:
    """The report, one JSON object a line."""
    lines = [
        {**artifact, "sequenceNumber": number, "timestamp": report.created}
        for number, artifact in enumerate(_artifacts(report))
    ]
    text = "".join(json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n"
                   for line in lines)  # fmt: skip
    return text.encode()


def _artifacts(report: Qualification) -> Iterator[dict[str, Any]]:
    yield {"schemaVersion": {"major": 2, "minor": 0}}
    yield {"testRunArtifact": {"testRunStart": _start(report)}}
    for number, row in enumerate(report.classes):
        yield from _step(report, row, f"step{number}")
    whole = f"step{len(report.classes)}"
    yield _in_step(whole, "testStepStart", {"name": ALL_CASES})
    for item in report.judgements:
        if item.subject == ALL_CASES:
            yield _in_step(whole, "diagnosis", _diagnosis(item))
    yield _in_step(whole, "testStepEnd", {"status": "COMPLETE"})
    is_over = report.num_finished == report.num_planned
    yield {
        "testRunArtifact": {
            "testRunEnd": {
                "status": "COMPLETE" if is_over else "ERROR",
                "result": _RESULTS[report.ruling],
            }
        }
    }


def _start(report: Qualification) -> dict[str, Any]:
    software = [
        {"name": name, "version": version, "softwareInfoId": f"software{number}",
         "softwareType": "SYSTEM" if name == "kernel" else "APPLICATION"}
        for number, (name, version) in enumerate(report.versions.items())
    ]  # fmt: skip
    return {
        "name": report.title,
        "version": report.versions.get("faultyard", "unknown"),
        "commandLine": report.command,
        "parameters": {
            "suite": report.name,
            "plan": report.digest,
            "seeds": sorted({case.seed for case in report.cases}),
        },
        "dutInfo": {"dutInfoId": DUT, "name": report.host, "softwareInfos": software},
        "metadata": {"commit": report.commit, "dirty": report.dirty,
                     "reason": report.reason},
    }  # fmt: skip


def _step(report: Qualification, row: ClassRow, step: str) -> Iterator[dict[str, Any]]:
    judged = [item for item in report.judgements if item.subject == row.name]
    yield _in_step(step, "testStepStart", {"name": row.name})
    for figure in row.figures:
        if figure.value is None:
            message = f"{figure.label}: {figure.text}"
            yield _in_step(step, "log", {"severity": "INFO", "message": message})
            continue
        yield _in_step(step, "measurement", _measurement(figure, judged))
    for item in judged:
        yield _in_step(step, "diagnosis", _diagnosis(item))
    for case in report.cases:
        if case.fault_class == row.name and case.status in _BAD:
            message = f"{case.case_id}: {case.status}: {case.reason}"
            severity = "ERROR" if case.status == "fail" else "WARNING"
            yield _in_step(step, "log", {"severity": severity, "message": message})
    is_over = row.num_done == row.num_cases
    yield _in_step(step, "testStepEnd", {"status": "COMPLETE" if is_over else "ERROR"})


def _measurement(figure: Figure, judged: list[Judgement]) -> dict[str, Any]:
    limits = [
        {
            "type": "GREATER_THAN_OR_EQUAL" if item.criterion in ("recall", "exact")
            else "LESS_THAN_OR_EQUAL",
            "name": item.limit_text,
            "value": item.limit,
        }
        for item in judged
        if item.label == figure.label
    ]  # fmt: skip
    found: dict[str, Any] = {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "metadata": {
            "text": figure.text, "low": figure.low, "high": figure.high, "n": figure.n,
            "interval": figure.interval, "confidence": figure.confidence,
            "cases": list(figure.cases),
        },
    }  # fmt: skip
    return {**found, "validators": limits} if limits else found


def _diagnosis(item: Judgement) -> dict[str, Any]:
    return {
        "verdict": f"{item.criterion}-{item.ruling.value}",
        "type": _TYPES[item.ruling],
        "message": f"{item.label} {item.figure_text}, {item.limit_text}",
    }


def _in_step(step: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"testStepArtifact": {"testStepId": step, name: content}}
