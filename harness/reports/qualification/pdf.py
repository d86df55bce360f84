"""A qualification as PDF: the ruling first, then criteria, figures, cases, limits.

Called by `harness.qualification_report`. ReportLab draws it (docs/decisions/0007): no
browser, no system library. The same value gives the same bytes. Every text and figure
is the report's own; pictures are drawn from the figures that page and HTML show.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    CondPageBreak,
    Flowable,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

from harness import palette
from harness.figures import forest
from harness.qualification import PLANNED, Qualification
from harness.reports.qualification.forest_pdf import Forest
from harness.views import wording

FONT, BOLD, MONO = "Helvetica", "Helvetica-Bold", "Courier"
INK = {name: colors.HexColor(value) for name, value in palette.LIGHT.items()}
WIDTH, HEIGHT = landscape(A4)
MARGIN = 15 * mm
ROOM = WIDTH - 2 * MARGIN
_GROUNDS = {"pass": ("good", "good-bg"), "fail": ("bad", "bad-bg"),
            "inconclusive": ("warn", "warn-bg")}  # fmt: skip
_FIGURES_PER_TABLE = 4
# The standard fonts have Latin-1 only; a PDF must say ">=", not show a black box.
_PLAIN = str.maketrans({"≠": "!=", "–": "-", "→": "->", "“": '"', "”": '"', "’": "'",
                        "≥": ">=", "≤": "<="})  # fmt: skip


def render(report: Qualification) -> bytes:
    """The report as PDF."""
    out = io.BytesIO()
    document = SimpleDocTemplate(
        out, pagesize=(WIDTH, HEIGHT), leftMargin=MARGIN, rightMargin=MARGIN,
        topMargin=MARGIN, bottomMargin=MARGIN, title=plain(report.title),
        author="faultyard", subject=f"{report.ruling.value}: {plain(report.reason)}",
        invariant=1,
    )  # fmt: skip

    def footer(canvas: Canvas, template: Any) -> None:
        canvas.setFont(FONT, 7.5)
        canvas.setFillColor(INK["ink-3"])
        canvas.drawString(MARGIN, 8 * mm, plain(f"{report.title} - {report.digest}"))
        canvas.drawRightString(WIDTH - MARGIN, 8 * mm, f"page {template.page}")

    document.build(list(_story(report)), onFirstPage=footer, onLaterPages=footer)
    return out.getvalue()


def _story(report: Qualification) -> Iterable[Flowable]:
    yield Paragraph(_safe(report.title), _style(17, BOLD, leading=21))
    yield Spacer(1, 3 * mm)
    yield _decision(report)
    if report.description:
        yield Spacer(1, 3 * mm)
        yield Paragraph(_safe(report.description), _style(9, color="ink-2"))
    yield from _section("Criteria", _criteria(report))
    for table in _figures(report):
        yield from _section("Figures", table)
    for name in forest.DRAWN:
        picture = forest.figure(report, palette.LIGHT, name)
        yield from _section(forest.title(name), Forest(picture, ROOM))
    yield from _section("Cases that did not pass", _trouble(report))
    yield from _section("What was not covered", _not_covered(report))
    for limit in report.never_covered:
        yield Paragraph(f"- {_safe(limit)}", _style(8.5))
    yield from _section("Where it comes from", _origin(report))
    yield from _section("Cases, seeds and commands", _cases(report))


def _decision(report: Qualification) -> Table:
    ink, ground = _GROUNDS[report.ruling.value]
    head = f"{report.num_finished} of {report.num_planned} cases measured"
    cell = [
        Paragraph(_safe(head), _style(8.5, color="ink-2")),
        Paragraph(report.ruling.value.upper(), _style(24, BOLD, leading=29, color=ink)),
        Paragraph(_safe(report.reason), _style(10.5, leading=14)),
    ]
    table = Table([[cell]], colWidths=[ROOM])
    table.setStyle(TableStyle([
        ("BACKGROUND", (0, 0), (-1, -1), INK[ground]),
        ("LEFTPADDING", (0, 0), (-1, -1), 12), ("RIGHTPADDING", (0, 0), (-1, -1), 12),
        ("TOPPADDING", (0, 0), (-1, -1), 9), ("BOTTOMPADDING", (0, 0), (-1, -1), 11),
    ]))  # fmt: skip
    return table


def _criteria(report: Qualification) -> Table:
    rows = [
        [item.ruling.value, item.subject, item.label, item.limit_text,
         item.figure_text]
        for item in report.judgements
    ]  # fmt: skip
    heads = ("Ruling", "Of", "Criterion", "Limit", "Measured")
    return _table(heads, rows, (0.09, 0.19, 0.2, 0.19, 0.33), colored=0)


def _figures(report: Qualification) -> Iterable[Table]:
    labels = [figure.label for figure in report.classes[0].figures]
    for first in range(0, len(labels), _FIGURES_PER_TABLE):
        part = slice(first, first + _FIGURES_PER_TABLE)
        rows = [
            [row.name, wording.k_of_n(row.num_done, row.num_cases),
             *(figure.text for figure in row.figures[part])]
            for row in report.classes
        ]  # fmt: skip
        shares = (0.18, 0.08, *[0.74 / _FIGURES_PER_TABLE] * len(labels[part]))
        yield _table(("Fault class", "Cases", *labels[part]), rows, shares)


def _trouble(report: Qualification) -> Flowable:
    rows = [
        [case.status, case.case_id, case.reason, case.run_id or "none"]
        for case in report.cases
        if case.status not in ("pass", PLANNED)
    ]
    if not rows:
        return Paragraph("Every case that has run has passed.", _style(9))
    return _table(("Outcome", "Case", "Why", "Run"), rows, (0.12, 0.24, 0.4, 0.24))


def _not_covered(report: Qualification) -> Table:
    rows = [
        [item.kind, item.surface, item.lifetime, item.grade, item.why]
        for item in report.not_covered
    ]
    heads = ("Fault", "Surface", "Lifetime", "Contract", "Why not here")
    return _table(heads, rows, (0.17, 0.24, 0.1, 0.1, 0.39))


def _origin(report: Qualification) -> Table:
    versions = ", ".join(f"{name} {text}" for name, text in report.versions.items())
    changed = " with changes that are not committed" if report.dirty else ""
    rows = [
        ["Command", report.command], ["Commit", f"{report.commit}{changed}"],
        ["Plan", report.digest], ["Machine", report.host],
        ["Started", report.created], ["Versions", versions],
        ["Side by side", str(report.num_workers)],
    ]  # fmt: skip
    return _table(("What", "Value"), rows, (0.14, 0.86))


def _cases(report: Qualification) -> Table:
    rows = [
        [case.case_id, str(case.seed), case.status, wording.seconds(case.wall_s),
         case.command]
        for case in report.cases
    ]  # fmt: skip
    heads = ("Case", "Seed", "Outcome", "Took", "Command, in the folder")
    return _table(heads, rows, (0.27, 0.07, 0.12, 0.09, 0.45))


def _section(title: str, content: Flowable) -> Iterable[Flowable]:
    yield CondPageBreak(38 * mm)
    yield Spacer(1, 5 * mm)
    yield Paragraph(_safe(title), _style(12, BOLD, leading=16))
    yield Spacer(1, 1.5 * mm)
    yield content


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[float],
    colored: int | None = None,
) -> Table:  # fmt: skip
    """A table with a repeated head; `colored` is a column of rulings."""
    cells = [[Paragraph(_safe(head), _style(7.5, color="ink-3")) for head in heads]]
    for row in rows:
        line = [Paragraph(_safe(text), _style(8)) for text in row]
        if colored is not None:
            ink = _GROUNDS[row[colored]][0]
            line[colored] = Paragraph(_safe(row[colored]), _style(8, BOLD, color=ink))
        cells.append(line)
    table = Table(cells, colWidths=[share * ROOM for share in shares], repeatRows=1)
    table.setStyle(TableStyle([
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, INK["line"]),
        ("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 6),
        ("TOPPADDING", (0, 0), (-1, -1), 2.2), ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
    ]))  # fmt: skip
    return table


def _style(
    size: float, font: str = FONT, *, leading: float | None = None, color: str = "ink"
) -> ParagraphStyle:
    return ParagraphStyle(
        f"{font}{size}{color}", fontName=font, fontSize=size,
        leading=leading or 1.25 * size, textColor=INK[color], splitLongWords=True,
    )  # fmt: skip


def _safe(text: str) -> str:
    return escape(plain(text))


def plain(text: str) -> str:
    """Text in the letters that the standard fonts have; others become `?`."""
    latin = text.translate(_PLAIN).encode("latin-1", "replace").decode("latin-1")
    return re.sub(r"[\x00-\x08\x0b-\x1f]", "?", latin)
