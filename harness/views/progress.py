"""Where every rank and its observer are. Pure.

Called by `run`. Steps come from the trainers, heartbeats from the observers: a watchdog
that does not show its own heartbeat cannot be trusted (FACTS, complaints).
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.views import wording
from harness.views.source import RunFacts, TimedEvent
from vocab.events import (
    ObserverHeartbeat,
    ObserverReady,
    ProcessExited,
    ProcessStarted,
    StepEnded,
    TierReported,
)
from vocab.names import rank_name


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPoint:
    """One finished step of one rank."""

    step: int
    at_s: float
    duration_s: float
    loss: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankProgress:
    """One rank: how far it is, and whether its process lives."""

    rank: str
    steps: tuple[StepPoint, ...]
    last_step: int | None  # None: it has not finished any
    num_steps: int
    done_text: str  # "7 of 12"
    last_duration_text: str
    loss_text: str
    process: str  # "not started", "pid 123", "exit code 1", "signal 9"
    tier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverRow:
    """One observer: its own life sign, and what it saw of its trainer."""

    rank: str
    beat: int | None  # None: it has not beaten yet
    age_s: float | None  # since its last sign of life; None: the run is over
    age_text: str
    step: int | None
    phase: str
    silent_text: str
    threshold_text: str
    trainer_state: str
    rss_text: str


def progress(facts: RunFacts) -> tuple[RankProgress, ...]:
    """All ranks of the job, also those that have said nothing."""
    num_ranks, num_steps = sizes(facts)
    by_source: dict[str, list[TimedEvent]] = {}
    for timed in facts.events:
        by_source.setdefault(timed.source, []).append(timed)
    processes = _processes(by_source.get("harness", []))
    return tuple(
        _rank(facts, rank_name(rank), by_source, num_steps, processes)
        for rank in range(num_ranks)
    )


def sizes(facts: RunFacts) -> tuple[int, int]:
    """(ranks, steps) of the job, from whichever phase file can be read."""
    if facts.meta is not None:
        return facts.meta.num_ranks, facts.meta.num_steps
    if facts.scenario is not None:
        return facts.scenario.num_ranks, facts.scenario.steps
    return 0, 0


def observers(facts: RunFacts, *, is_final: bool) -> tuple[ObserverRow, ...]:
    """Every observer that has said anything, by rank."""
    last: dict[int, TimedEvent] = {}
    for timed in facts.events:
        if isinstance(timed.event, (ObserverHeartbeat, ObserverReady)):
            last[timed.event.rank] = timed
    return tuple(
        _observer(facts, rank, last[rank], is_final=is_final) for rank in sorted(last)
    )


def _rank(
    facts: RunFacts,
    name: str,
    by_source: dict[str, list[TimedEvent]],
    num_steps: int,
    processes: dict[str, str],
) -> RankProgress:
    steps: list[StepPoint] = []
    tier = ""
    for timed in by_source.get(name, []):
        event = timed.event
        if isinstance(event, StepEnded):
            steps.append(
                StepPoint(step=event.step, at_s=facts.at_s(timed.at_ns),
                          duration_s=event.duration_s, loss=event.loss)
            )  # fmt: skip
        elif isinstance(event, TierReported):
            tier = event.tier
    last = steps[-1] if steps else None
    return RankProgress(
        rank=name,
        steps=tuple(steps),
        last_step=last.step if last else None,
        num_steps=num_steps,
        done_text=wording.k_of_n(last.step if last else 0, num_steps),
        last_duration_text=wording.seconds(last.duration_s if last else None),
        loss_text=wording.number(last.loss if last else None),
        process=processes.get(name, "not started"),
        tier=tier,
    )


def _processes(events: list[TimedEvent]) -> dict[str, str]:
    found: dict[str, str] = {}
    for timed in events:
        event = timed.event
        if isinstance(event, ProcessStarted):
            found[event.name] = f"pid {event.pid}"
        elif isinstance(event, ProcessExited):
            if event.signal is not None:
                found[event.name] = f"signal {event.signal}"
            elif event.exit_code is not None:
                found[event.name] = f"exit code {event.exit_code}"
            else:
                found[event.name] = "gone, cause unknown"
    return found


def _observer(
    facts: RunFacts, rank: int, timed: TimedEvent, *, is_final: bool
) -> ObserverRow:
    event = timed.event
    assert isinstance(event, (ObserverHeartbeat, ObserverReady))
    age_s = None if is_final else max(0.0, (facts.now_ns - timed.at_ns) / 1e9)
    age_text = "run is over"
    if age_s is not None:
        age_text = f"{wording.seconds(float(round(age_s)))} ago"
    rss = f"{event.rss_bytes / 2**20:.0f} MiB"
    if isinstance(event, ObserverReady):
        return ObserverRow(
            rank=rank_name(rank), beat=None, age_s=age_s, age_text=age_text,
            step=None, phase="",
            silent_text=wording.ABSENT, threshold_text=wording.ABSENT,
            trainer_state="", rss_text=rss,
        )  # fmt: skip
    limit = event.threshold_s
    return ObserverRow(
        rank=rank_name(rank),
        beat=event.beat,
        age_s=age_s,
        age_text=age_text,
        step=event.step,
        phase=event.phase,
        silent_text=wording.seconds(event.silent_s),
        threshold_text="none" if limit is None else wording.seconds(limit),
        trainer_state=event.trainer_state,
        rss_text=rss,
    )
