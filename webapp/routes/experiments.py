"""The paper's experiments: claims beside ours, tables, pictures."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from harness.views.experiments import ExperimentsView, build, picture
from webapp.errors import ErrorBody
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})


@router.get("/experiments.json", response_model=ExperimentsView)
@router.get("/experiments", include_in_schema=False)
def experiments(request: Request) -> Response:
    """Every experiment with its last results."""
    view = build(_folder(request))
    return answer(request, "experiments.html", view, title="Experiments")


@router.get("/experiments/{name}.svg", response_class=Response)
def experiment_picture(request: Request, name: str) -> Response:
    """The picture of one experiment's last results."""
    found = picture(name, _folder(request))
    if found is None:
        raise HTTPException(404, f"no picture of an experiment {name!r}")
    return Response(found, media_type="image/svg+xml")


def _folder(request: Request) -> Path:
    """Where `faultyard experiment` writes, beside the runs."""
    runs_root: Path = request.app.state.settings.runs_root
    return runs_root.resolve().parent / "experiments"
