"""Errors that SCOUT raises towards its user."""

from __future__ import annotations


class ScoutError(Exception):
    """Base of SCOUT's own errors."""


class MeshError(ScoutError, ValueError):
    """The parallel layout is not a mesh that SCOUT can read."""


class SetupError(ScoutError, ValueError):
    """`enable_resiliency` cannot attach to this model or optimizer."""


class ExchangeFailed(ScoutError):
    """A diagnostic exchange did not complete; the check is given up."""


class RingUnreadable(ScoutError):
    """A progress ring is not there, or is none of this format."""


class ObserverFailed(ScoutError, OSError):
    """An observer process did not start; training goes on without it."""


class DumpError(ScoutError, ValueError):
    """A flight-recorder dump cannot be used; says which file and field, and why."""

    def __init__(self, file: str, field: str, problem: str, allowed: str = "") -> None:
        self.file = file
        self.field = field
        hint = f"; allowed: {allowed}" if allowed else ""
        super().__init__(f"{file}: {field}: {problem}{hint}")
