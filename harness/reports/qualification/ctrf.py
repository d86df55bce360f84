"""A qualification in the Common Test Report Format (ctrf.io), version 0.0.0. Pure.

Every criterion and every case is a test; the figures stand under `extra`.
"""

from __future__ import annotations

import json
from typing import Any

from harness.criteria import Ruling
from harness.qualification import CaseRow, Qualification
from vocab.codec import to_json

SPEC_VERSION = "0.0.0"
_CASES = {"pass": "passed", "fail": "failed", "inconclusive": "other",
          "planned": "pending"}  # fmt: skip
_RULINGS = {Ruling.PASS: "passed", Ruling.FAIL: "failed", Ruling.INCONCLUSIVE: "other"}
_STATES = ("passed", "failed", "skipped", "pending", "other")


def render(report: Qualification) -> bytes:
    """The report as JSON."""
    tests = [*_criteria(report), *(_case(case) for case in report.cases)]
    counts = {state: sum(test["status"] == state for test in tests)
              for state in _STATES}  # fmt: skip
    times = [(case.started_ns // 1_000_000, _ms(case)) for case in report.cases
             if case.started_ns is not None]  # fmt: skip
    document = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "timestamp": report.created,
        "generatedBy": "faultyard",
        "results": {
            "tool": {
                "name": "faultyard",
                "version": report.versions.get("faultyard", "unknown"),
            },
            "summary": {
                "tests": len(tests),
                **counts,
                "suites": 1 + len(report.classes),
                "start": min((start for start, _ in times), default=0),
                "stop": max((start + took for start, took in times), default=0),
            },
            "tests": tests,
            "environment": {
                "commit": report.commit,
                "extra": {"host": report.host, "versions": report.versions},
            },
            "extra": {
                "title": report.title,
                "ruling": report.ruling.value,
                "reason": report.reason,
                "command": report.command,
                "figures": {
                    row.name: {figure.name: to_json(figure) for figure in row.figures}
                    for row in report.classes
                },
            },
        },
    }
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    return text.encode() + b"\n"


def _criteria(report: Qualification) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{item.subject}: {item.label} {item.limit_text}",
            "status": _RULINGS[item.ruling],
            "rawStatus": item.ruling.value,
            "duration": 0,
            "suite": ["criteria"],
            "message": item.figure_text,
        }
        for item in report.judgements
    ]


def _case(case: CaseRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": case.case_id,
        "status": _CASES.get(case.status, "other"),
        "rawStatus": case.status,
        "duration": _ms(case),
        "suite": [case.fault_class],
        "message": case.reason or "as expected",
        "extra": {"run": case.run_id, "command": case.command},
    }
    if case.started_ns is not None:
        found["start"] = case.started_ns // 1_000_000
        found["stop"] = found["start"] + found["duration"]
    return found


def _ms(case: CaseRow) -> int:
    return 0 if case.wall_s is None else round(1000 * case.wall_s)
