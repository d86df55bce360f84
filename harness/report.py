"""Export one run: HTML for people, JSON for programs, JUnit XML for CI.

Called by the command line and the web page. Every format is made from the same view,
and nothing is computed here: page and reports cannot disagree.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from harness.reports import fabric_csv, fabric_svg, html, junit
from harness.store import RunDirectory
from harness.views.run import RunView, build
from harness.views.source import RunLog
from vocab.codec import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of report: its file's ending, its media type, how it is made."""

    suffix: str
    media_type: str
    make: Callable[[RunView], bytes]


def as_json(view: RunView) -> bytes:
    """The view itself as JSON: the twin of the run page."""
    text = json.dumps(to_json(view), indent=1, allow_nan=False, ensure_ascii=False)
    return text.encode() + b"\n"


FORMATS: dict[str, Format] = {
    "html": Format(suffix="html", media_type="text/html", make=html.render),
    "json": Format(suffix="json", media_type="application/json", make=as_json),
    "junit": Format(
        suffix="junit.xml", media_type="application/xml", make=junit.render
    ),
    "fabric-csv": Format(
        suffix="fabric.csv", media_type="text/csv", make=fabric_csv.render
    ),
    "fabric-svg": Format(
        suffix="fabric.svg", media_type="image/svg+xml", make=fabric_svg.render
    ),
}


def render(run: RunDirectory, format: str) -> bytes:
    """One run's report, from whatever state its files are in.

    Args:
        format: a name in `FORMATS`.

    Raises:
        ValueError: no such format.
    """
    return render_view(build(RunLog(run).read()), format)


def render_view(view: RunView, format: str) -> bytes:
    """The report of a view that is already there.

    Raises:
        ValueError: no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"format {format!r}; allowed: {', '.join(FORMATS)}")
    return FORMATS[format].make(view)
