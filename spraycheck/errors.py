"""Errors that SprayCheck raises towards its user."""

from __future__ import annotations


class CountError(ValueError):
    """Counts or sizes that cannot be those of a sprayed flow."""


class WireError(ValueError):
    """Bytes or header fields that are not of the format they claim to be."""


class ReportError(ValueError):
    """A report that does not fit the fabric: unknown leaf, spine or link."""


class CalibrationError(ValueError):
    """No sensitivity can be had: too few samples, or none for this fabric and load."""


class SimulationError(ValueError):
    """A simulation that cannot be: a field is out of range or contradicts another."""
