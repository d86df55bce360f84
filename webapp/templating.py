"""Render templates: the dashboard's own and the parts it shares with the report."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from fastapi import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.reports import html as report_html
from vocab.codec import to_json
from webapp import form

TEMPLATES = Path(__file__).resolve().parent / "templates"


@functools.cache
def environment() -> jinja2.Environment:
    """The one Jinja environment; made at first use, not at import."""
    found = report_html.environment_of(TEMPLATES, report_html.TEMPLATES)
    found.globals.update(families=form.families)
    found.filters.update(query=_query)
    return found


def _query(fields: dict[str, Any]) -> str:
    """A query string of what is given."""
    return urlencode({name: value for name, value in fields.items() if value})


def page(template: str, **context: Any) -> str:
    """One template as text."""
    return environment().get_template(template).render(**context)


def answer(request: Request, template: str, view: Any, **context: Any) -> Response:
    """A page, or where the path ends in `.json` its JSON twin: the same dataclass."""
    if request.url.path.endswith(".json"):
        return JSONResponse(to_json(view))
    return HTMLResponse(page(template, view=view, **context))
