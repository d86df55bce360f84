"""Entry point of the observer process: settings in, one line out, then watch.

    stdin: ObserverSettings as JSON, then end of file
    stdout: {"address": ...} or {"error": ...}; nothing is ever written there again

Run by `scout.observer_process` without site packages: standard library, scout, vocab.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from scout.errors import RingUnreadable
from scout.observer import Observer
from scout.observer_journal import ObserverJournal
from scout.observer_settings import ObserverSettings
from scout.ring_reader import RingReader
from vocab.codec import from_json
from vocab.errors import DecodeError
from vocab.events import DetectorDisabled


def main() -> None:
    """Watch one trainer; ends by itself."""
    try:
        settings = from_json(ObserverSettings, json.load(sys.stdin))
        ring = RingReader.open(Path(settings.ring_path))
        folder = None if settings.journal_dir is None else Path(settings.journal_dir)
        journal = ObserverJournal(settings.rank, folder).open()
        observer = Observer(settings, ring, journal)
        address = observer.listen()
    except (OSError, ValueError, DecodeError, RingUnreadable) as error:
        _report({"error": str(error)})
        return
    _report({"address": str(address)})
    try:
        observer.run()
    except Exception as error:
        # A failing diagnosis says so once and goes (DESIGN 2.7); the trainer starts a
        # new one at its next step.
        reason = f"{type(error).__name__}: {error}"
        journal.write(
            DetectorDisabled(component="scout.observer", reason=reason, step=None)
        )
        raise
    finally:
        observer.close()


def _report(message: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except OSError:
        os._exit(1)  # the trainer died or gave up on us meanwhile
    # Whoever waits for the end of this pipe must not wait for us.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, sys.stdin.fileno())
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
