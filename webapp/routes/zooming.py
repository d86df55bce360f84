"""Query parameters that say which part of a run's grids is wanted; one place for all.

ranks=256-511   checks=4-7   per_host=8
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, HTTPException, Query

from harness.views.folding import Zoom

_RANGE = re.compile(r"^(\d{1,7})-(\d{1,7})\Z")


def zoom_of(
    ranks: Annotated[str, Query(max_length=20)] = "",
    checks: Annotated[str, Query(max_length=20)] = "",
    per_host: Annotated[str, Query(max_length=5)] = "",
) -> Zoom:
    """The part that a request asks for; everything where it says nothing.

    Raises:
        HTTPException: 422, naming the parameter.
    """
    hosts = int(per_host) if per_host.isascii() and per_host.isdigit() else None
    if per_host and not hosts:
        raise HTTPException(
            422, f"per_host is {per_host!r}; allowed: a number of ranks from 1 on"
        )
    return Zoom(
        ranks=_range("ranks", ranks), checks=_range("checks", checks), per_host=hosts
    )


ZoomOf = Annotated[Zoom, Depends(zoom_of)]


def _range(name: str, text: str) -> tuple[int, int] | None:
    if not text:
        return None
    match = _RANGE.match(text)
    if match is None or int(match[1]) > int(match[2]):
        raise HTTPException(
            422, f"{name} is {text!r}; allowed: first-last, such as 0-255"
        )
    return int(match[1]), int(match[2])
