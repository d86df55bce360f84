"""Who may ask, and how much: in front of every route (pure ASGI, no state).

    Host not ours            403, on everything: DNS rebinding
    no token                 401, where the server listens beyond loopback (`login`)
    foreign Origin on POST   403: a page of somebody else cannot launch or cancel
    long body                413, before it is read whole
    every answer             Content-Security-Policy and friends

On loopback the dashboard has no login: it serves this machine's user, and these checks
keep that user's browser from being used against it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webapp.errors import BodyTooLong, ErrorView, body_too_long, error_response
from webapp.login import Doorkeeper, is_open
from webapp.settings import is_loopback

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# Plotly writes style attributes; scripts come from our own files only, never inline.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # `same-origin`, not `no-referrer`: with the latter browsers send Origin: null on
    # our own forms, which could then not be told from a foreign one.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Gate:
    """The middleware; `max_body_bytes` is the longest body that is let in."""

    def __init__(
        self,
        app: ASGIApp,
        max_body_bytes: int,
        doorkeeper: Doorkeeper | None = None,
        allowed_hosts: tuple[str, ...] = (),
    ) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._doorkeeper = doorkeeper
        self._allowed_hosts = tuple(name.lower() for name in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with a bounded body and safe headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = refuse(
            scope["method"], headers, self._max_body_bytes, self._allowed_hosts
        ) or self._ask(scope["path"], headers)
        guarded = _with_headers(send)
        if refusal is not None:
            await error_response(refusal, headers)(scope, receive, guarded)
            return
        bounded = _Bounded(receive, self._max_body_bytes)
        await self._app(scope, bounded.receive, guarded)

    def _ask(self, path: str, headers: Headers) -> ErrorView | None:
        if (
            self._doorkeeper is None
            or is_open(path)
            or self._doorkeeper.admits(headers)
        ):
            return None
        return _NO_TOKEN


_NO_TOKEN = ErrorView(
    status=401, code="no_token",
    message="this dashboard asks for a token: log in at /login, or send it as "
    "Authorization: Bearer",
)  # fmt: skip


def refuse(
    method: str, headers: Headers, max_body_bytes: int,
    allowed_hosts: tuple[str, ...] = (),
) -> ErrorView | None:  # fmt: skip
    """Why a request is refused; None where it is not. Pure."""
    host = headers.get("host", "")
    if not _is_our_host(host, allowed_hosts):
        names = ", ".join(("localhost", "127.0.0.1", *allowed_hosts))
        message = f"Host {host!r} is not this machine; allowed: {names}"
        return ErrorView(status=403, code="foreign_host", message=message)
    if method not in SAFE_METHODS and not is_same_origin(headers):
        origin = headers.get("origin") or headers.get("sec-fetch-site", "")
        message = f"{method} from {origin!r} is refused; allowed: from http://{host}"
        return ErrorView(status=403, code="foreign_origin", message=message)
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > max_body_bytes:
        return body_too_long(max_body_bytes)
    return None


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from our own page, or from no browser at all."""
    origin = headers.get("origin")
    if origin is None:
        site = headers.get("sec-fetch-site", "none")
        return site in ("same-origin", "none")
    parts = urlsplit(origin)
    if parts.netloc != headers.get("host", ""):
        return False
    # https: a proxy in front of us ended TLS. On loopback there is none.
    is_proxied = parts.scheme == "https" and not is_loopback(parts.hostname or "")
    return parts.scheme == "http" or is_proxied


class _Bounded:
    def __init__(self, receive: Receive, max_body_bytes: int) -> None:
        self._receive = receive
        self._max_body_bytes = max_body_bytes
        self._left = max_body_bytes

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise BodyTooLong(self._max_body_bytes)
        return message


def _is_our_host(host: str, allowed: tuple[str, ...]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and (is_loopback(name) or name in allowed)


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded
