"""The coverage contract: what is promised for each kind of fault."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from harness.views.coverage import CoverageView, build
from webapp.errors import ErrorBody
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})


@router.get("/coverage.json", response_model=CoverageView)
@router.get("/coverage", include_in_schema=False)
def coverage(request: Request) -> Response:
    """Every kind of fault on every surface, by lifetime."""
    return answer(request, "coverage.html", build(), title="Coverage")
