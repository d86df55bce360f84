"""One rank of a run: its evidence, timings, progress ring, events and log.

Called by the rank page; reads the end of the log file, all else is pure. Shows what
was compared; whether it is blamed stands in the verdicts, repeated word for word.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.views import evidence as ev
from harness.views import wording
from harness.views.cards import VerdictCard
from harness.views.evidence import EvidenceGrid
from harness.views.folding import Zoom
from harness.views.progress import ObserverRow, RankProgress
from harness.views.rings import RingCell, entry_cell, state_text
from harness.views.run import RunView
from harness.views.source import RunFacts
from harness.views.tail import EventFilter, TailRow, tail_view
from harness.views.timing import CELL_WORDS, TimingGrid
from harness.views.timing import timing as timing_of
from vocab.events import ProgressCompared, ProgressSnapshot
from vocab.names import rank_name

LOG_BYTES = 32 * 1024
MAX_ROWS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEvidence:
    """Comparisons in which this rank stood out or was missing."""

    group: str
    num_compared: int
    num_agreeing: int
    agreeing_text: str
    marked: tuple[RankCell, ...]  # the newest
    num_marked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCell:
    """One comparison: what it says of this rank, and what the others had."""

    check: int
    step: int
    surface: str
    layer: str
    word: str  # outlier, missing, …
    value: str
    votes_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTiming:
    """One timed interval of the newest check, beside its group's median."""

    check: int
    step: int
    surface: str
    layer: str
    word: str
    own_text: str
    median_text: str
    threshold_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRing:
    """The newest ring that an observer compared of this rank."""

    at_s: float
    state_text: str
    age_text: str
    entries: tuple[tuple[int, int, RingCell], ...]  # (step, op, what), newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """The page of one rank."""

    run_id: str
    title: str
    rank: str
    number: int
    num_ranks: int
    progress: RankProgress | None  # None: an analysis launched no processes
    observer: ObserverRow | None
    cards: tuple[VerdictCard, ...]  # verdicts that name it, as blamed or as waiting
    evidence: tuple[RankEvidence, ...]
    timings: tuple[RankTiming, ...]
    ring: RankRing | None
    events: tuple[TailRow, ...]
    num_events: int
    log: str  # the end of its output
    log_file: str  # "" where there is none


def rank_view(facts: RunFacts, view: RunView, number: int, logs: Path) -> RankView:
    """The page of rank `number`.

    Args:
        logs: the run's folder of logs.
    """
    name = rank_name(number)
    zoom = Zoom(ranks=(number, number))
    by_name = {rank.rank: rank for rank in view.progress}
    watching = {row.rank: row for row in view.observers}
    own = tail_view(facts, EventFilter(source=name), MAX_ROWS)
    log, log_file = _log(logs, name)
    return RankView(
        run_id=view.run_id,
        title=view.origin.title,
        rank=name,
        number=number,
        num_ranks=num_ranks(view),
        progress=by_name.get(name),
        observer=watching.get(name),
        cards=tuple(
            c for c in view.cards if name in (*c.blamed, *c.victims, *c.missing)
        ),
        evidence=tuple(
            _evidence(grid) for grid in ev.evidence(facts, zoom) if grid.cells
        ),
        timings=tuple(
            row
            for grid in timing_of(facts, zoom)
            if grid.cells
            for row in _timings(grid)
        ),
        ring=_ring(facts, number),
        events=own.rows,
        num_events=own.num_fitting,
        log=log,
        log_file=log_file,
    )


def num_ranks(view: RunView) -> int:
    """Ranks that the run has, or that its evidence names."""
    last = [span[1] for grid in view.evidence for span in grid.spans]
    return max([len(view.progress), *(rank + 1 for rank in last)])


def _evidence(grid: EvidenceGrid) -> RankEvidence:
    row, values = grid.cells[0], grid.values[0]
    compared = [c for c in row if c != ev.NOT_COMPARED]
    found = [
        i for i, char in enumerate(row) if char not in (ev.AGREES, ev.NOT_COMPARED)
    ]
    agreeing = row.count(ev.AGREES)
    return RankEvidence(
        group=grid.group,
        num_compared=len(compared),
        num_agreeing=agreeing,
        agreeing_text=wording.k_of_n(agreeing, len(compared)),
        marked=tuple(
            RankCell(
                check=grid.columns[i].check,
                step=grid.columns[i].step,
                surface=grid.columns[i].surface,
                layer=grid.columns[i].layer,
                word=ev.CELL_WORDS[row[i]],
                value=values[i] or "no signature",
                votes_text=grid.columns[i].votes_text,
            )
            for i in reversed(found[-MAX_ROWS:])
        ),
        num_marked=len(found),
    )


def _timings(grid: TimingGrid) -> list[RankTiming]:
    newest = grid.columns[-1].check if grid.columns else -1
    return [
        RankTiming(
            check=column.check,
            step=column.step,
            surface=column.surface,
            layer=column.layer,
            word=CELL_WORDS[grid.cells[0][i]],
            own_text=grid.charged_text[0][i],
            median_text=column.median_text,
            threshold_text=column.statistic.threshold_text if column.statistic
            else wording.ABSENT,
        )
        for i, column in enumerate(grid.columns)
        if column.check == newest
    ]  # fmt: skip


def _ring(facts: RunFacts, number: int) -> RankRing | None:
    for timed in reversed(facts.events):
        if isinstance(timed.event, ProgressCompared):
            for snapshot in timed.event.snapshots:
                if snapshot.rank == number:
                    return _ring_of(snapshot, facts.at_s(timed.at_ns))
    return None


def _ring_of(snapshot: ProgressSnapshot, at_s: float) -> RankRing:
    return RankRing(
        at_s=at_s,
        state_text=state_text(snapshot),
        age_text=wording.seconds(snapshot.age_s),
        entries=tuple(
            (entry.step, entry.op, entry_cell(entry, is_newest=place == 0))
            for place, entry in enumerate(reversed(snapshot.ring))
        ),
    )


def _log(logs: Path, name: str) -> tuple[str, str]:
    """(end of the log, its path within the run); both "" where there is none."""
    path = logs / f"{name}.log"
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LOG_BYTES))
            data = file.read()
    except OSError:
        return "", ""
    if size > LOG_BYTES:  # the first line is torn
        data = data.partition(b"\n")[2]
    return data.decode("utf-8", errors="replace"), f"logs/{path.name}"
