"""A qualification as one CSV table (RFC 4180): figures, judgements and cases. Pure.

The first column says what a line is. A missing value is an empty field, never 0.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from harness.qualification import Qualification

COLUMNS = ("line", "subject", "name", "status", "value", "low", "high", "unit", "n",
           "interval", "text", "cases")  # fmt: skip
# Spreadsheets run cells that begin like this as formulas (OWASP "CSV injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render(report: Qualification) -> bytes:
    """The table as UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for line in _lines(report):
        writer.writerow([_safe(line.get(name)) for name in COLUMNS])
    return out.getvalue().encode()


def _lines(report: Qualification) -> Iterator[dict[str, object]]:
    yield {"line": "qualification", "subject": report.title, "name": report.name,
           "status": report.ruling.value, "text": report.reason}  # fmt: skip
    for item in report.judgements:
        yield {"line": "criterion", "subject": item.subject, "name": item.criterion,
               "status": item.ruling.value, "value": item.limit, "interval": item.by,
               "text": f"{item.figure_text}, {item.limit_text}",
               "cases": " ".join(item.cases)}  # fmt: skip
    for row in report.classes:
        for figure in row.figures:
            yield {"line": "figure", "subject": row.name, "name": figure.name,
                   "value": figure.value, "low": figure.low, "high": figure.high,
                   "unit": figure.unit, "n": figure.n, "interval": figure.interval,
                   "text": figure.text, "cases": " ".join(figure.cases)}  # fmt: skip
    for case in report.cases:
        yield {"line": "case", "subject": case.fault_class, "name": case.case_id,
               "status": case.status, "value": case.wall_s, "unit": "s",
               "text": case.reason, "cases": case.run_id}  # fmt: skip


def _safe(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
