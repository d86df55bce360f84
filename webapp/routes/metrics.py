"""`/metrics`, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from webapp.errors import ErrorBody

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Counts of runs, verdicts and the queue, in Prometheus' text format."""
    from webapp.metrics import exposition  # its library is not needed for pages

    text = exposition(request.app.state.settings.runs_root)
    return Response(text, media_type=MEDIA_TYPE)
