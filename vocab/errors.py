"""The two errors that reading shared words can raise."""

from __future__ import annotations


class InvalidName(ValueError):
    """A node, link or rank name is not of the form that Faultyard writes."""


class DecodeError(ValueError):
    """A JSON object is not the event or verdict that it claims to be."""
