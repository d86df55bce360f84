"""Errors that SprayCheck raises towards its user."""

from __future__ import annotations


class CountError(ValueError):
    """Counts or sizes that cannot be those of a sprayed flow."""
