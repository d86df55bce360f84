"""One shape for every error, as JSON for programs and as a page for people.

{"error": {"status": 404, "code": "unknown_run", "message": "…", "flaws": []}}
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.errors import Flaw, InfrastructureError, ScenarioError, UnknownRun
from vocab.codec import to_json
from webapp.templating import page

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorView:
    """What went wrong: for the status line, for programs, for people."""

    status: int
    code: str
    message: str
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """The JSON document of every error."""

    error: ErrorView


class BodyTooLong(Exception):
    """A body without a stated length passed the limit (its argument) while read."""


def body_too_long(max_body_bytes: int) -> ErrorView:
    """The answer to a body over the limit."""
    message = f"the request's body is too long; allowed: {max_body_bytes} bytes"
    return ErrorView(status=413, code="body_too_long", message=message)


def error_response(view: ErrorView, headers: Headers, path: str = "") -> Response:
    """The answer in the form that the asker reads."""
    wants_page = "text/html" in headers.get("accept", "") and "." not in path
    if wants_page:
        text = page("error.html", view=view, title=f"{view.status}")
        return HTMLResponse(text, status_code=view.status)
    return JSONResponse(to_json(ErrorBody(error=view)), status_code=view.status)


def install(app: FastAPI) -> None:
    """Make every exception end in the one shape."""
    for kind in (UnknownRun, ScenarioError, InfrastructureError, BodyTooLong,
                 HTTPException, RequestValidationError, Exception):  # fmt: skip
        app.add_exception_handler(kind, _answer)


def describe(error: Exception) -> ErrorView:
    """What an exception says to the asker."""
    if isinstance(error, ScenarioError):
        return ErrorView(status=422, code="flawed_scenario", message=str(error),
                         flaws=tuple(error.flaws))  # fmt: skip
    if isinstance(error, UnknownRun):
        return ErrorView(status=404, code="unknown_run", message=str(error.args[0]))
    if isinstance(error, InfrastructureError):
        return ErrorView(status=503, code="infrastructure", message=str(error))
    if isinstance(error, BodyTooLong):
        return body_too_long(error.args[0])
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).name.lower()
        return ErrorView(status=error.status_code, code=code, message=str(error.detail))
    if isinstance(error, RequestValidationError):
        return ErrorView(status=422, code="bad_request", message=_explain(error))
    _log.error("unexpected error", exc_info=error)
    message = f"{type(error).__name__}; the server's log has the details"
    return ErrorView(status=500, code="unexpected", message=message)


def _answer(request: Request, error: Exception) -> Response:
    return error_response(describe(error), request.headers, request.url.path)


def _explain(error: RequestValidationError) -> str:
    parts = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        parts.append(f"{where}: {item['msg']}; got {item.get('input')!r}")
    return "; ".join(parts)
