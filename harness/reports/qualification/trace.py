"""A qualification as a Chrome trace, for Perfetto and chrome://tracing. Pure.

    process = fault class     thread = case     spans: the run, its faults
                                                instants: verdicts

JSON object format of the Trace Event Format; times are microseconds since the
first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.qualification import CaseRow, Qualification


def render(report: Qualification) -> bytes:
    """The trace as JSON."""
    starts = [case.started_ns for case in report.cases if case.started_ns is not None]
    first = min(starts, default=0)
    document = {
        "displayTimeUnit": "ms",
        "otherData": {
            "title": report.title,
            "ruling": report.ruling.value,
            "commit": report.commit,
            **{
                f"{row.name}.{figure.name}": figure.text
                for row in report.classes
                for figure in row.figures
            },
        },
        "traceEvents": list(_events(report, first)),
    }
    return (json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _events(report: Qualification, first_ns: int) -> Iterator[dict[str, Any]]:
    for pid, row in enumerate(report.classes, 1):
        yield _name("process_name", pid, 0, row.name)
        cases = [case for case in report.cases if case.fault_class == row.name]
        for tid, case in enumerate(cases, 1):
            yield _name("thread_name", pid, tid, case.case_id)
            if case.started_ns is not None and case.wall_s is not None:
                yield from _case(case, pid, tid, (case.started_ns - first_ns) / 1e3)


def _case(
    case: CaseRow, pid: int, tid: int, start_us: float
) -> Iterator[dict[str, Any]]:
    wall_s = case.wall_s or 0.0
    yield {"ph": "X", "cat": "run", "name": f"{case.case_id}: {case.status}",
           "pid": pid, "tid": tid, "ts": start_us, "dur": 1e6 * wall_s,
           "args": {"run": case.run_id, "reason": case.reason}}  # fmt: skip
    for mark in case.marks:
        at_us = start_us + 1e6 * mark.at_s
        place = {"pid": pid, "tid": tid, "ts": at_us}
        event: dict[str, Any] = {"cat": mark.kind, "name": mark.name, **place}
        if mark.kind == "verdict":
            yield {**event, "ph": "i", "s": "t"}
        else:
            lasts = mark.for_s if mark.for_s is not None else wall_s - mark.at_s
            yield {**event, "ph": "X", "dur": 1e6 * max(0.0, lasts)}


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0,
            "args": {"name": name}}  # fmt: skip
