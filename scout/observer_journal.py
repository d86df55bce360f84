"""Where an observer writes: its own event file, or standard error without a folder.

A full disk must not end the watch: what cannot be written is counted and dropped.
Used by `scout.observer` only.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from scout.hang_finding import HangFinding
from scout.hang_incident import Incident
from scout.hang_verdict import to_verdict
from vocab.errors import DecodeError
from vocab.events import (
    Event,
    IncidentClosed,
    ProgressCompared,
    Stamped,
    VerdictIssued,
    decode,
)
from vocab.journal import EventWriter
from vocab.names import rank_name
from vocab.verdict import EvidenceRef, Verdict


class ObserverJournal:
    """The events of one observer; made by `open`."""

    def __init__(self, rank: int, folder: Path | None) -> None:
        self._rank = rank
        self._folder = folder
        self._writer: EventWriter | None = None
        self.num_lost = 0

    def open(self) -> ObserverJournal:
        """Open the event file.

        Raises:
            OSError: the folder cannot be written to.
        """
        if self._folder is not None:
            self._writer = EventWriter(self._folder, f"observer{self._rank}").open()
        return self

    def write(self, event: Event) -> Stamped | None:
        """Append an event; None where it was not kept."""
        if self._writer is None:
            return None
        try:
            return self._writer.write(event)
        except OSError:
            self.num_lost += 1
            return None

    def write_verdict(
        self,
        compared: ProgressCompared,
        finding: HangFinding,
        *,
        number: int,
        group: str,
        supersedes: str | None,
    ) -> Verdict:
        """Write the evidence, then the verdict that rests on it."""
        evidence = self.write(compared)
        verdict = to_verdict(
            finding,
            incident=number,
            group=group,
            at_ns=time.monotonic_ns(),
            evidence=()
            if evidence is None
            else (EvidenceRef(source=evidence.source, seq=evidence.seq),),
            supersedes=supersedes,
        )
        self.write(VerdictIssued(verdict=verdict))
        self._say(f"{verdict.kind} {verdict.state}: {verdict.reason}")
        return verdict

    def write_closed(self, incident: Incident, step: int | None, why: str) -> None:
        """Write that an incident is over."""
        self.write(IncidentClosed(verdict_id=incident.verdict_id, step=step, why=why))
        self._say(f"{incident.verdict_id} is over: {why}")

    def num_incidents(self) -> int:
        """Highest number of an incident that any observer of this run has written.

        Numbers go on when observers, or the whole job, are started again.
        """
        if self._folder is None:
            return 0
        files = sorted(self._folder.glob("observer*.jsonl"))
        return max((_highest_incident(path) for path in files), default=0)

    def close(self) -> None:
        """Close the event file."""
        if self._writer is not None:
            self._writer.close()

    def _say(self, text: str) -> None:
        if self._writer is None:  # nobody reads events: the job's own log must have it
            sys.stderr.write(f"scout observer of {rank_name(self._rank)}: {text}\n")


def _highest_incident(path: Path) -> int:
    highest = 0
    with path.open("rb") as file:
        for line in file:
            if b'"VerdictIssued"' not in line:
                continue
            try:
                event = decode(json.loads(line)).event
            except (DecodeError, ValueError):
                continue  # the torn last line of an observer that was killed
            if isinstance(event, VerdictIssued):
                highest = max(highest, event.verdict.incident)
    return highest
