"""Style sheets, scripts and fonts: everything from this server, nothing from others."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException
from starlette.responses import FileResponse, Response

from harness import palette
from harness.reports import html as report_html

router = APIRouter(include_in_schema=False)
STATIC = Path(__file__).resolve().parent.parent / "static"
CACHED = {"cache-control": "max-age=3600"}
# Vendored names carry their version, so their content never changes.
FROZEN = {"cache-control": "max-age=31536000, immutable"}


@router.get("/static/theme.css")
def theme_css() -> Response:
    """The colours, from the one place that has them."""
    return Response(palette.css(), media_type="text/css", headers=CACHED)


@router.get("/static/run.css")
def run_css() -> Response:
    """The parts that page and report share."""
    return FileResponse(report_html.RUN_CSS, media_type="text/css", headers=CACHED)


@router.get("/static/{path:path}")
def static(path: str) -> Response:
    """A file of ours; nothing outside the static folder."""
    file = (STATIC / path).resolve()
    if not file.is_relative_to(STATIC) or not file.is_file():
        raise HTTPException(404, f"no static file {path!r}")
    headers = FROZEN if file.is_relative_to(STATIC / "vendor") else CACHED
    return FileResponse(file, headers=headers)
