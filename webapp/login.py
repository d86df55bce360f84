"""Who may ask from another machine: those who know the token.

    Authorization: Bearer TOKEN     programs
    cookie                          browsers, after the form at /login

Only in force where the server listens beyond loopback. The cookie holds a digest of the
token, not the token; comparisons take the same time whatever is wrong. Wrong tries are
counted for the whole server: after ten in a minute none is looked at for a while.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import deque
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

COOKIE = "faultyard_login"
MIN_LENGTH = 16
MAX_WRONG = 10
WINDOW_S = 60.0
OPEN_PATHS = ("/login", "/static/")


class Doorkeeper:
    """Knows the token; one for each server."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._wrong: deque[float] = deque(maxlen=MAX_WRONG)
        self._lock = threading.Lock()

    @property
    def cookie(self) -> str:
        """What the cookie holds."""
        return hashlib.sha256(b"faultyard cookie\0" + self._token).hexdigest()

    def admits(self, headers: Headers) -> bool:
        """Whether a request shows the token, or the cookie that it gave."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_right(given.strip())
        return hmac.compare_digest(_cookie_of(headers).encode(), self.cookie.encode())

    def is_right(self, given: str) -> bool:
        """Whether this is the token; a wrong one is counted."""
        if self.is_shut():
            return False
        is_right = hmac.compare_digest(given.encode(), self._token)
        if not is_right:
            with self._lock:
                self._wrong.append(time.monotonic())
        return is_right

    def is_shut(self) -> bool:
        """Whether too many wrong tokens came in too short a time."""
        with self._lock:
            is_full = len(self._wrong) == MAX_WRONG
            return is_full and time.monotonic() - self._wrong[0] < WINDOW_S


def is_open(path: str) -> bool:
    """Whether a path is served to everybody: the form and how it looks."""
    return path == OPEN_PATHS[0] or path.startswith(OPEN_PATHS[1])


def _cookie_of(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
