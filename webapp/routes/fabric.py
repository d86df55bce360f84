"""The fabric of a run: its live parts, and its counters as JSON and CSV."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.reports import fabric_csv
from harness.views.fabric import FabricView
from vocab.codec import to_json
from webapp.errors import ErrorBody
from webapp.state import ViewsOf
from webapp.templating import page

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
PARTS = ("words", "counters")


@router.get("/runs/{run_id}/fabric/{part}", include_in_schema=False)
def fabric_part(run_id: str, part: str, views: ViewsOf) -> Response:
    """One part as HTML."""
    if part not in PARTS:
        raise HTTPException(404, f"no part {part!r}; allowed: {', '.join(PARTS)}")
    text = page("_fabric_part.html", view=views.view(run_id), part=part)
    return HTMLResponse(text, headers={"cache-control": "no-store"})


@router.get("/runs/{run_id}/fabric.json", response_model=FabricView | None)
def fabric_json(run_id: str, views: ViewsOf) -> Response:
    """Counters, links and words; null where the run has no fabric (yet)."""
    return JSONResponse(to_json(views.view(run_id).fabric))


@router.get("/runs/{run_id}/fabric.csv", response_class=Response)
def fabric_table(run_id: str, views: ViewsOf) -> Response:
    """The counters as a table."""
    return Response(
        fabric_csv.render(views.view(run_id)),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{run_id}.fabric.csv"'},
    )
