"""Pages below a run's: one rank, the rings of a hang, one comparison in full."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import RedirectResponse, Response

from harness.views.column import ColumnView, column
from harness.views.rank import RankView, num_ranks, rank_view
from harness.views.rings import RingView, ring_view
from webapp.errors import ErrorBody
from webapp.state import ViewsOf
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
SEE_OTHER = 303
MAX_NUMBER = 9_999_999


@router.get("/runs/{run_id}/ranks", include_in_schema=False)
def go_to_rank(
    run_id: str, views: ViewsOf, rank: Annotated[int, Query(ge=0, le=MAX_NUMBER)] = 0
) -> Response:
    """Where a form that asks for a rank leads."""
    views.store.open(run_id)
    return RedirectResponse(f"/runs/{run_id}/ranks/{rank}", status_code=SEE_OTHER)


@router.get("/runs/{run_id}/ranks/{rank}", include_in_schema=False)
@router.get("/runs/{run_id}/ranks/{rank}.json", response_model=RankView)
def rank_page(request: Request, run_id: str, rank: str, views: ViewsOf) -> Response:
    """One rank: its verdicts, evidence, timings, ring, events and log."""
    view = views.view(run_id)
    total = num_ranks(view)
    number = int(rank) if rank.isascii() and rank.isdigit() and len(rank) < 8 else -1
    if not 0 <= number < total:
        raise HTTPException(404, f"no rank {rank!r}; allowed: 0..{total - 1}")
    logs = views.store.open(run_id).logs
    shown = rank_view(views.facts(run_id), view, number, logs)
    title = f"{shown.rank} · {view.origin.title}"
    return answer(request, "rank.html", shown, title=title, run=view)


@router.get("/runs/{run_id}/hang.json", response_model=RingView)
@router.get("/runs/{run_id}/hang", include_in_schema=False)
def hang_page(
    request: Request,
    run_id: str,
    views: ViewsOf,
    at: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
) -> Response:
    """The rings that the observers compared, side by side; `at`: which comparison."""
    view = views.view(run_id)
    try:
        shown = ring_view(views.facts(run_id), at)
    except IndexError:
        raise HTTPException(404, f"no comparison {at} in run {run_id}") from None
    if shown is None:
        raise HTTPException(
            404, f"run {run_id} has no comparison of progress: nothing was silent"
        )
    title = f"Rings · {view.origin.title}"
    return answer(request, "hang.html", shown, title=title, run=view, at=at)


@router.get("/runs/{run_id}/column.json", response_model=ColumnView)
@router.get("/runs/{run_id}/column", include_in_schema=False)
def column_part(
    request: Request,
    run_id: str,
    views: ViewsOf,
    check: Annotated[int, Query(ge=0, le=MAX_NUMBER)],
    surface: Annotated[str, Query(max_length=300)],
    kind: Literal["evidence", "timing"] = "evidence",
    group: Annotated[int, Query(ge=0, le=100_000)] = 0,
    rank: Annotated[int, Query(ge=0, le=MAX_NUMBER)] = 0,
) -> Response:
    """Every rank's value of one surface of one check."""
    facts = views.facts(run_id)
    shown = column(facts, kind=kind, group=group, check=check, surface=surface,
                   rank=rank)  # fmt: skip
    if shown is None:
        raise HTTPException(
            404, f"no {kind} of {surface!r} in check {check} of group {group}"
        )
    return answer(request, "_column.html", shown, run_id=run_id)
