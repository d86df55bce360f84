"""Live parts of the run page: small pieces of HTML, and figures as JSON.

The page asks for a part when the event stream says that it changed.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.figures.catalogue import FIGURES
from harness.palette import THEMES
from webapp.state import ViewsOf
from webapp.templating import page

router = APIRouter()
PARTS = ("status", "verdict", "truth", "facts", "notices", "checks", "timings",
         "ranks", "observers", "tail")  # fmt: skip


@router.get("/runs/{run_id}/parts/{part}", include_in_schema=False)
def part(run_id: str, part: str, views: ViewsOf) -> Response:
    """One part as HTML."""
    if part not in PARTS:
        raise HTTPException(404, f"no part {part!r}; allowed: {', '.join(PARTS)}")
    text = page("_parts.html", view=views.view(run_id), part=part)
    return HTMLResponse(text, headers={"cache-control": "no-store"})


@router.get("/runs/{run_id}/figures/{name}")
def figure(
    run_id: str,
    name: str,
    views: ViewsOf,
    theme: str = "light",
    group: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """One figure, as Plotly's `data` and `layout`."""
    if name not in FIGURES:
        raise HTTPException(404, f"no figure {name!r}; allowed: {', '.join(FIGURES)}")
    if theme not in THEMES:
        raise HTTPException(422, f"theme {theme!r}; allowed: {', '.join(THEMES)}")
    drawn = FIGURES[name].draw(views.view(run_id), THEMES[theme], group)
    return JSONResponse(drawn, headers={"cache-control": "no-store"})
