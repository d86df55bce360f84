"""Live parts of the run page: small pieces of HTML, and figures as JSON.

The page asks for a part when the event stream says that it changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.figures.catalogue import FIGURES
from harness.palette import THEMES
from harness.views.evidence import evidence
from harness.views.folding import ALL
from harness.views.tail import EventFilter, TailView, tail_view
from harness.views.timing import timing
from webapp.errors import ErrorBody
from webapp.routes.zooming import ZoomOf
from webapp.state import ViewsOf
from webapp.templating import answer, page

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
PARTS = ("status", "verdict", "truth", "strip", "facts", "notices", "timeline",
         "checks", "timings", "ranks", "observers")  # fmt: skip


def filter_of(
    writer: Annotated[str, Query(max_length=40)] = "",
    type: Annotated[str, Query(max_length=60)] = "",
    words: Annotated[str, Query(alias="q", max_length=200)] = "",
) -> EventFilter:
    """The event filter that a request asks for."""
    return EventFilter(writer=writer, type=type, words=words)


FilterOf = Annotated[EventFilter, Depends(filter_of)]


@router.get("/runs/{run_id}/parts/{part}", include_in_schema=False)
def part(run_id: str, part: str, views: ViewsOf) -> Response:
    """One part as HTML."""
    if part not in PARTS:
        raise HTTPException(404, f"no part {part!r}; allowed: {', '.join(PARTS)}")
    text = page("_parts.html", view=views.view(run_id), part=part)
    return HTMLResponse(text, headers={"cache-control": "no-store"})


@router.get("/runs/{run_id}/tail.json", response_model=TailView)
@router.get("/runs/{run_id}/tail", include_in_schema=False)
def tail_part(
    request: Request, run_id: str, views: ViewsOf, wanted: FilterOf
) -> Response:
    """The newest events that fit the filter, with counts for each of its choices."""
    view = tail_view(views.facts(run_id), wanted)
    return answer(request, "_tail.html", view)


@router.get("/runs/{run_id}/figures/{name}", response_model=dict[str, Any])
def figure(
    run_id: str,
    name: str,
    views: ViewsOf,
    zoom: ZoomOf,
    theme: str = "light",
    group: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """One figure, as Plotly's `data` and `layout`."""
    if name not in FIGURES:
        raise HTTPException(404, f"no figure {name!r}; allowed: {', '.join(FIGURES)}")
    if theme not in THEMES:
        raise HTTPException(422, f"theme {theme!r}; allowed: {', '.join(THEMES)}")
    view = views.view(run_id)
    if zoom != ALL and FIGURES[name].is_per_group:
        facts = views.facts(run_id)
        view = replace(view, evidence=evidence(facts, zoom), timing=timing(facts, zoom))
    drawn = FIGURES[name].draw(view, THEMES[theme], group)
    return JSONResponse(drawn, headers={"cache-control": "no-store"})
