"""What every event is: the base that `events` and `fabric_events` share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; the type written to the file is the class's name."""
