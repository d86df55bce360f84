"""The newest events as one line each, for the end of a page. Pure.

Ground truth is marked, so that nobody takes it for something a detector knew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.views import wording
from harness.views.source import RunFacts
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


def tail(facts: RunFacts, length: int = TAIL_LENGTH) -> tuple[TailRow, ...]:
    """The newest `length` events, newest first."""
    rows = []
    for timed in reversed(facts.events[-length:]):
        at_s = facts.at_s(timed.at_ns)
        rows.append(
            TailRow(
                at_s=at_s,
                at_text=f"{at_s:.3f}",
                source=timed.source,
                type=type(timed.event).__name__,
                text=describe(timed.event),
                is_truth=timed.source.startswith("faults."),
            )
        )
    return tuple(rows)


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
