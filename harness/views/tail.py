"""The newest events as one line each, for the end of a page. Pure.

Ground truth is marked, so that nobody takes it for something a detector knew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.views import wording
from harness.views.source import RunFacts, TimedEvent
from vocab import events as ev
from vocab.codec import to_json

TAIL_LENGTH = 60
_MAX_TEXT = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class TailRow:
    """One event: when, whose, which, and what it says."""

    at_s: float
    at_text: str
    source: str
    type: str
    text: str
    is_truth: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted; "" is any."""

    writer: str = ""  # rank, observer, harness, faults, …: a source without its number
    type: str = ""
    source: str = ""  # one file's, such as rank3
    words: str = ""  # that all stand in the line, in any case


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One choice of a filter, with how many events it would show."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TailView:
    """The newest events that fit, and what else could be asked for."""

    rows: tuple[TailRow, ...]
    wanted: EventFilter
    num_events: int
    num_fitting: int
    writers: tuple[Count, ...]
    types: tuple[Count, ...]


def tail(facts: RunFacts, length: int = TAIL_LENGTH) -> tuple[TailRow, ...]:
    """The newest `length` events, newest first."""
    return tuple(_row(facts, timed) for timed in reversed(facts.events[-length:]))


def tail_view(
    facts: RunFacts, wanted: EventFilter = EventFilter(), length: int = TAIL_LENGTH
) -> TailView:
    """The newest `length` events that fit, with counts by writer and by type.

    Counts of one filter hold under all the others, so that no choice leads nowhere.
    """
    writers: Counter[str] = Counter()
    types: Counter[str] = Counter()
    fitting: list[TimedEvent] = []
    for timed in facts.events:
        if not _has_words(timed, wanted):
            continue
        writer, kind = writer_of(timed.source), type(timed.event).__name__
        fits_writer = wanted.writer in ("", writer)
        fits_type = wanted.type in ("", kind)
        writers[writer] += fits_type
        types[kind] += fits_writer
        if fits_writer and fits_type:
            fitting.append(timed)
    newest = reversed(fitting[-length:])
    return TailView(
        rows=tuple(_row(facts, timed) for timed in newest),
        wanted=wanted,
        num_events=len(facts.events),
        num_fitting=len(fitting),
        writers=_counts(writers),
        types=_counts(types),
    )


def writer_of(source: str) -> str:
    """Who writes such files: `rank` for rank3, `faults` for faults.rank3."""
    return source.partition(".")[0].rstrip("0123456789")


def _has_words(timed: TimedEvent, wanted: EventFilter) -> bool:
    if wanted.source and timed.source != wanted.source:
        return False
    words = wanted.words.lower().split()
    if not words:
        return True
    kind = type(timed.event).__name__
    text = f"{timed.source} {kind} {describe(timed.event)}".lower()
    return all(word in text for word in words)


def _counts(found: Counter[str]) -> tuple[Count, ...]:
    return tuple(Count(name=name, count=found[name]) for name in sorted(found))


def _row(facts: RunFacts, timed: TimedEvent) -> TailRow:
    at_s = facts.at_s(timed.at_ns)
    return TailRow(
        at_s=at_s,
        at_text=f"{at_s:.3f}",
        source=timed.source,
        type=type(timed.event).__name__,
        text=describe(timed.event),
        is_truth=timed.source.startswith("faults."),
    )


def describe(event: ev.Event) -> str:
    """One line for any event; its plain fields where there is no better one."""
    line = _LINES.get(type(event))
    text = line(event) if line else _plain(event)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


def _plain(event: ev.Event) -> str:
    fields = to_json(event)
    return " ".join(
        f"{name}={value}" for name, value in fields.items() if value not in (None, "")
    )


def _exit(event: ev.ProcessExited) -> str:
    if event.signal is not None:
        return f"{event.name} ended by signal {event.signal}"
    code = "unknown code" if event.exit_code is None else f"code {event.exit_code}"
    return f"{event.name} exited, {code}"


def _check(event: ev.CheckCompleted) -> str:
    total, agree = len(event.surfaces), 0
    for surface in event.surfaces:
        agree += surface.k == surface.n
    text = (
        f"check {event.check} of {event.group} at step {event.step}: "
        f"all agree on {wording.k_of_n(agree, total)} surfaces"
    )
    return f"{text}; {event.problem}" if event.problem else text


def _injected(event: ev.FaultInjected) -> str:
    changes = "; ".join(f"{c.what}: {c.before} → {c.after}" for c in event.changes)
    return f"{event.label} on {wording.names(event.targets)}: {changes}"


_LINES: dict[type[ev.Event], Callable[[Any], str]] = {
    ev.FileOpened: lambda e: f"process {e.pid} opened this file",
    ev.RunStarted: lambda e: f"{e.title} · {e.num_ranks} ranks · {e.num_steps} steps",
    ev.PhaseChanged: lambda e: f"{e.phase} {e.detail}".strip(),
    ev.ProcessStarted: lambda e: f"{e.name} is process {e.pid}",
    ev.ProcessExited: _exit,
    ev.Problem: lambda e: f"{e.component}: {e.message} {e.fix}".strip(),
    ev.RunEnded: lambda e: f"{e.outcome}: {e.reason}",
    ev.TierReported: lambda e: f"SCOUT sees tier {e.tier}: {', '.join(e.sees)}",
    ev.StepEnded: lambda e: (
        f"step {e.step} in {wording.seconds(e.duration_s)}, "
        f"loss {wording.number(e.loss)}"
    ),
    ev.DetectorDisabled: lambda e: f"{e.component} switched itself off: {e.reason}",
    ev.DetectorRestarted: lambda e: f"{e.component}: {e.reason}",
    ev.CheckCompleted: _check,
    ev.VerdictIssued: lambda e: f"{e.verdict.state.value}: {e.verdict.reason}",
    ev.IncidentClosed: lambda e: f"{e.verdict_id} closed: {e.why}",
    ev.ObserverReady: lambda e: f"listens after {wording.seconds(e.startup_s)}",
    ev.ObserverHeartbeat: lambda e: (
        f"beat {e.beat}: step {e.step} in {e.phase}, "
        f"silent {wording.seconds(e.silent_s)}"
    ),
    ev.ProgressCompared: lambda e: (
        f"{len(e.snapshots)} of {len(e.group_ranks)} ranks compared after "
        f"{wording.seconds(e.silent_s)} of silence of rank{e.rank}"
    ),
    ev.FaultTriggered: lambda e: f"{e.fault_id} triggered, {e.detail or 'no detail'}",
    ev.FaultInjected: _injected,
    ev.FaultHealed: lambda e: (
        f"{e.fault_id} healed after {wording.count(e.num_strikes, 'strike')} "
        f"{e.residue}"
    ).strip(),
    ev.FaultFailed: lambda e: f"{e.fault_id} failed: {e.reason}",
}
