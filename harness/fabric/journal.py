"""Writes the fabric's events, and what the detection makes of each. One file a source.

Called by `simulated`. An event is written first and decided on then, so that everything
that a verdict refers to has its place in a file; re-analysis repeats this order.
"""

from __future__ import annotations

from pathlib import Path

from harness.fabric.detection import Detection
from vocab.events import Event
from vocab.journal import EventWriter


class Journal:
    """The files of `fabric`, `leaf<i>` and `monitor`."""

    def __init__(self, folder: Path, detection: Detection) -> None:
        self._folder = folder
        self._detection = detection
        self._writers: dict[str, EventWriter] = {}

    def write(self, source: str, event: Event) -> None:
        """Append an event, and all that follows from it."""
        if source not in self._writers:
            self._writers[source] = EventWriter(self._folder, source).open()
        stamped = self._writers[source].write(event)
        for output in self._detection.on_event(stamped):
            self.write(output.source, output.event)

    def close(self) -> None:
        """Close all files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
