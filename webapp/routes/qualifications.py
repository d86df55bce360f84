"""Suites and their qualifications: start, watch, cancel, resume, download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from starlette.responses import RedirectResponse, Response

from harness.errors import UsageError
from harness.evidence import FILE as EVIDENCE
from harness.qualification import Qualification
from harness.qualification_report import FORMATS
from harness.qualify_folder import QualificationFolder, Suite, shipped
from harness.views.matrix import GLYPHS, MatrixRow, build
from webapp.errors import ErrorBody
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
SEE_OTHER = 303


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One qualification in the list."""

    name: str
    title: str
    ruling: str
    num_finished: int
    num_planned: int
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationsView:
    """The list: what can be qualified, and what was begun."""

    suites: tuple[Suite, ...]
    begun: tuple[Begun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationView:
    """One qualification as it stands."""

    is_live: bool
    running: tuple[str, ...]
    report: Qualification
    rows: tuple[MatrixRow, ...]
    has_evidence: bool


@router.get("/qualifications.json", response_model=QualificationsView)
@router.get("/qualifications", include_in_schema=False)
def qualifications(request: Request) -> Response:
    """Suites that ship, and qualifications that were begun."""
    folder = _folder(request)
    begun = []
    for name in folder.names():
        report = folder.report(name)
        begun.append(
            Begun(
                name=name,
                title=report.title,
                ruling=report.ruling.value,
                num_finished=report.num_finished,
                num_planned=report.num_planned,
                is_live=folder.is_live(name),
            )  # fmt: skip
        )
    view = QualificationsView(suites=tuple(shipped()), begun=tuple(begun))
    return answer(request, "qualifications.html", view, title="Qualifications")


@router.post("/qualifications", include_in_schema=False)
def start(request: Request, suite: Annotated[str, Form(max_length=80)]) -> Response:
    """Begin a suite, or go on with it."""
    try:
        name = _folder(request).start(suite)
    except UsageError as error:
        raise HTTPException(422, str(error)) from None
    return RedirectResponse(f"/qualifications/{name}", status_code=SEE_OTHER)


@router.post("/qualifications/{name}/cancel", include_in_schema=False)
def cancel(request: Request, name: str) -> Response:
    """Interrupt it; what is finished stays, and it can be resumed."""
    _view(request, name)
    _folder(request).cancel(name)
    return RedirectResponse(f"/qualifications/{name}", status_code=SEE_OTHER)


# Decorators take effect from below: the twin's path is the narrower one.
@router.get("/qualifications/{name}", include_in_schema=False)
@router.get("/qualifications/{name}.json", response_model=QualificationView)
def qualification(request: Request, name: str) -> Response:
    """The matrix, the ruling so far, figures, and every format to take away."""
    view = _view(request, name)
    return answer(
        request, "qualification_page.html", view, title=view.report.title,
        formats=FORMATS, glyphs=GLYPHS,
    )  # fmt: skip


@router.get("/qualifications/{name}/report/{format}", response_class=Response)
def download(request: Request, name: str, format: str) -> Response:
    """The report in one format, or `evidence`: the zip that `verify` reads."""
    view = _view(request, name)
    if format == "evidence":
        path = _folder(request).path(name) / EVIDENCE
        if not path.is_file():
            raise HTTPException(404, f"{name} has no evidence yet: it is not over")
        return _file(path.read_bytes(), "application/zip", f"{name}.zip")
    if format not in FORMATS:
        allowed = ", ".join([*FORMATS, "evidence"])
        raise HTTPException(404, f"format is {format!r}; allowed: {allowed}")
    kind = FORMATS[format]
    return _file(kind.make(view.report), kind.media_type, f"{name}.{kind.suffix}")


def _view(request: Request, name: str) -> QualificationView:
    folder = _folder(request)
    try:
        report = folder.report(name)
    except UsageError as error:
        raise HTTPException(404, str(error)) from None
    running = folder.running(name)
    return QualificationView(
        is_live=folder.is_live(name),
        running=running,
        report=report,
        rows=build(report, running),
        has_evidence=(folder.path(name) / EVIDENCE).is_file(),
    )


def _file(data: bytes, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)


def _folder(request: Request) -> QualificationFolder:
    """Beside the runs, where `faultyard qualify` keeps its own."""
    runs_root = request.app.state.settings.runs_root
    return QualificationFolder(runs_root.resolve().parent / "qualifications")
