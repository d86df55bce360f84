"""One run as a self-contained page: no script, no network, opens from a file.

Called by `harness.report`. Words and tables come from templates that the web page uses
too, pictures are the page's figures drawn as SVG, so the figures are identical.
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from harness import palette
from harness.figures.catalogue import FIGURES
from harness.reports import svg
from harness.views import coverage, evidence, timing, wording
from harness.views.run import RunView

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE / "templates"
RUN_CSS = HERE / "static" / "run.css"
# Rows of a table; more are in the JSON report, and a long run stays a small file.
MAX_ROWS = 400
REPORT_CSS = HERE / "static" / "report.css"


def render(view: RunView) -> bytes:
    """The report as UTF-8 HTML."""
    environment = environment_of(TEMPLATES)
    styles = palette.css() + RUN_CSS.read_text("utf-8") + REPORT_CSS.read_text("utf-8")
    page = environment.get_template("report.html").render(
        view=view, styles=Markup(styles), pictures=pictures(view)
    )
    return page.encode()


def environment_of(*folders: Path) -> jinja2.Environment:
    """Jinja over `folders`, with what the shared templates call."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    found.globals.update(
        max_rows=MAX_ROWS,
        incident=wording.incident,
        seconds=wording.seconds,
        notable_checks=evidence.notable,
        notable_timings=timing.notable,
        coverage_of=coverage.build,
    )
    return found


def pictures(view: RunView) -> dict[str, list[Markup]]:
    """SVG of every figure by name; one for each peer group where it has several."""
    found: dict[str, list[Markup]] = {}
    for name, kind in FIGURES.items():
        num_groups = len(view.evidence) if kind.is_per_group else 1
        found[name] = [
            Markup(svg.draw(kind.draw(view, palette.VARIABLES, group), kind.title))
            for group in range(num_groups)
        ]
    return found
