"""A qualification as a self-contained page: no script, no network, prints well.

Called by `harness.qualification_report`. Words, tables and pictures come from templates
and figures that the dashboard uses too.
"""

from __future__ import annotations

from markupsafe import Markup

from harness import palette
from harness.figures import forest
from harness.qualification import Qualification
from harness.reports import svg
from harness.reports.html import REPORT_CSS, RUN_CSS, TEMPLATES, environment_of
from harness.views import matrix


def render(report: Qualification) -> bytes:
    """The report as UTF-8 HTML."""
    styles = palette.css() + RUN_CSS.read_text("utf-8") + REPORT_CSS.read_text("utf-8")
    page = (
        environment_of(TEMPLATES)
        .get_template("qualification.html")
        .render(
            view=report,
            rows=matrix.build(report),
            glyphs=matrix.GLYPHS,
            styles=Markup(styles),
            pictures=pictures(report),
        )
    )
    return page.encode()


def pictures(report: Qualification) -> list[tuple[str, Markup]]:
    """(title, SVG) of every figure."""
    return [
        (
            forest.title(name),
            Markup(svg.draw(forest.figure(report, palette.VARIABLES, name),
                            forest.title(name))),
        )
        for name in forest.DRAWN
    ]  # fmt: skip
