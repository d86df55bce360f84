"""Why a fault could not strike."""

from __future__ import annotations


class CannotInject(Exception):
    """The fault's target is not there; becomes `FaultFailed`, outcome not-injected."""
