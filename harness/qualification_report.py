"""Write a qualification's report in every format, all from one value.

Called by the `qualify` command (all of them, and the evidence) and by the dashboard
(one at a time). Nothing is computed here or in a format, so that no two can disagree.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.evidence import FILE as EVIDENCE
from harness.evidence import pack
from harness.qualification import Qualification
from harness.reports.qualification import csv, ctrf, html, junit, ocp, pdf, trace
from harness.store import replace_file
from vocab.codec import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format: file ending, media type, what it is for, how it is made."""

    suffix: str
    media_type: str
    purpose: str
    make: Callable[[Qualification], bytes]


def as_json(report: Qualification) -> bytes:
    """The value itself: the twin of the page."""
    text = json.dumps(to_json(report), indent=1, allow_nan=False, ensure_ascii=False)
    return text.encode() + b"\n"


FORMATS: dict[str, Format] = {
    "html": Format(suffix="html", media_type="text/html", make=html.render,
                   purpose="to read, offline and on paper"),
    "pdf": Format(suffix="pdf", media_type="application/pdf", make=pdf.render,
                  purpose="for a change board"),
    "json": Format(suffix="json", media_type="application/json", make=as_json,
                   purpose="everything, for programs"),
    "csv": Format(suffix="csv", media_type="text/csv", make=csv.render,
                  purpose="figures and cases, for spreadsheets"),
    "junit": Format(suffix="junit.xml", media_type="application/xml",
                    make=junit.render, purpose="for CI systems"),
    "ctrf": Format(suffix="ctrf.json", media_type="application/json",
                   make=ctrf.render, purpose="Common Test Report Format"),
    "ocp": Format(suffix="ocp.jsonl", media_type="application/jsonl",
                  make=ocp.render, purpose="OCP test and validation output 2.0"),
    "trace": Format(suffix="trace.json", media_type="application/json",
                    make=trace.render, purpose="timeline, for Perfetto or Chrome"),
}  # fmt: skip


def write_all(report: Qualification, folder: Path) -> list[Path]:
    """Write `report.*` and the evidence into the qualification's folder.

    Raises:
        OSError: the folder cannot be written.
    """
    written = []
    for kind in FORMATS.values():
        path = folder / f"report.{kind.suffix}"
        replace_file(path, kind.make(report))
        written.append(path)
    return [*written, pack(folder, folder / EVIDENCE)]
