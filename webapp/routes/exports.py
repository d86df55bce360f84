"""What can be taken away from a run: reports, and the run's own files."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException
from starlette.responses import FileResponse, Response

from harness.report import FORMATS, render_view
from webapp.errors import ErrorBody
from webapp.state import ViewsOf

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
TOP_FILES = ("scenario.yaml", "meta.json", "ended.json", "results.json")
FOLDERS = ("events", "logs", "evidence")


@router.get("/runs/{run_id}/report/{format}", response_class=Response)
def report(run_id: str, format: str, views: ViewsOf) -> Response:
    """The report as a file: html, json or junit."""
    if format not in FORMATS:
        raise HTTPException(404, f"no format {format!r}; allowed: {', '.join(FORMATS)}")
    kind = FORMATS[format]
    name = f"{run_id}.{kind.suffix}"
    return Response(
        render_view(views.view(run_id), format),
        media_type=kind.media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


@router.get("/runs/{run_id}/files/{path:path}", response_class=Response)
def run_file(run_id: str, path: str, views: ViewsOf) -> Response:
    """A file of the run as plain text; nothing outside its folder, by no path."""
    file = inside(views.store.open(run_id).path, path)
    if file is None:
        allowed = ", ".join((*TOP_FILES, *(f"{name}/…" for name in FOLDERS)))
        raise HTTPException(
            404, f"no file {path!r} in run {run_id}; allowed: {allowed}"
        )
    return FileResponse(file, media_type="text/plain; charset=utf-8")


def inside(folder: Path, path: str) -> Path | None:
    """The file `path` of a run folder; None where it is none that may be served."""
    root = folder.resolve()
    try:
        file = (root / path).resolve()  # links are followed before they are judged
        parts = file.relative_to(root).parts
    except (ValueError, OSError):
        return None
    is_top = len(parts) == 1 and parts[0] in TOP_FILES
    is_in_folder = len(parts) > 1 and parts[0] in FOLDERS
    return file if (is_top or is_in_folder) and file.is_file() else None
