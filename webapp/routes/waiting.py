"""The queue: what runs, what waits, and the proof that ended runs left nothing."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from harness.remnants import CleanState, inspect
from harness.views.waiting import QueueView, build
from webapp.errors import ErrorBody
from webapp.state import ViewsOf
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanView:
    """What of one run is still on this machine."""

    run_id: str
    is_clean: bool
    state: CleanState


@router.get("/queue.json", response_model=QueueView)
@router.get("/queue", include_in_schema=False)
def queue_page(request: Request, views: ViewsOf) -> Response:
    """Living runs in the order of their turn, and the newest ended ones."""
    return answer(request, "queue.html", build(views.store), title="Queue")


@router.get("/runs/{run_id}/clean.json", response_model=CleanView)
@router.get("/runs/{run_id}/clean", include_in_schema=False)
def clean(request: Request, run_id: str, views: ViewsOf) -> Response:
    """Every place that a run uses, looked at now."""
    state = inspect(views.store.open(run_id))
    view = CleanView(run_id=run_id, is_clean=state.is_clean, state=state)
    return answer(request, "_clean.html", view)
