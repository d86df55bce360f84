"""The form that asks for the token, where the server listens beyond loopback."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from webapp.login import COOKIE, Doorkeeper
from webapp.templating import page

router = APIRouter(include_in_schema=False)
SEE_OTHER = 303


@router.get("/login")
def form(request: Request) -> Response:
    """Ask."""
    return HTMLResponse(page("login.html", title="Log in", problem=""))


@router.post("/login")
def log_in(request: Request, token: Annotated[str, Form(max_length=1000)]) -> Response:
    """Let in, or say what was wrong."""
    doorkeeper: Doorkeeper | None = request.app.state.doorkeeper
    if doorkeeper is None:
        raise HTTPException(404, "this server asks for no token")
    if doorkeeper.is_shut():
        raise HTTPException(429, "too many wrong tokens; try again in a minute")
    if not doorkeeper.is_right(token.strip()):
        text = page("login.html", title="Log in", problem="This is not the token.")
        return HTMLResponse(text, status_code=401)
    answer = RedirectResponse("/scenarios", status_code=SEE_OTHER)
    answer.set_cookie(COOKIE, doorkeeper.cookie, httponly=True, samesite="strict")
    return answer
