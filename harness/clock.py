"""One time line for the event files of a run, from their `FileOpened` anchors.

Files of one boot share the monotonic clock, so differences between their events are
exact even when wall time was set meanwhile; files of different boots meet by wall time.
"""

from __future__ import annotations

from vocab.events import FileOpened, Stamped


class MergedClock:
    """Learns anchors with `note`; then tells the merged time of events."""

    def __init__(self) -> None:
        self._anchors: dict[str, tuple[FileOpened, int]] = {}  # event, its t_ns
        self._origin: tuple[str, int] | None = None  # boot, wall minus monotonic

    def knows(self, source: str) -> bool:
        """Whether the anchor of this source's file was seen."""
        return source in self._anchors

    def note(self, stamped: Stamped) -> None:
        """Learn from an event, if it is an anchor; a later anchor replaces it."""
        if isinstance(stamped.event, FileOpened):
            self._anchors[stamped.source] = (stamped.event, stamped.t_ns)
            if self._origin is None:
                offset = stamped.event.wall_ns - stamped.t_ns
                self._origin = (stamped.event.boot_id, offset)

    def ns(self, stamped: Stamped) -> int:
        """Wall-clock nanoseconds; the bare monotonic time where no anchor is known."""
        anchor = self._anchors.get(stamped.source)
        if anchor is None or self._origin is None:
            return stamped.t_ns
        opened, opened_ns = anchor
        if opened.boot_id == self._origin[0]:
            return stamped.t_ns + self._origin[1]
        return opened.wall_ns + stamped.t_ns - opened_ns
