"""Watches one run while its ranks train: faults, exits, verdicts, cancel, time.

    runtime.poll --starts, exits--> ProcessStarted, ProcessExited --> ending rule
    rank files ----FaultTriggered--> HostDriver (signals) ----------> faults.harness
               ----StepEnded, VerdictIssued ...---------------------> ending rule

Called by `run`. It decides nothing itself: `ending` says when the run is over, and no
verdict changes what is injected or when.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.ending import Ending, EndingRule
from harness.events import EventReader
from harness.fabric.process import FabricProcess
from harness.processes import state_of
from harness.runtime.base import News, RankExit, RankStarted, Runtime, RuntimeLost
from harness.scenario import Scenario
from harness.store import RunDirectory
from injectors.fault import HostContext
from injectors.host_driver import HostDriver
from vocab.events import (
    Event,
    FaultHealed,
    FaultInjected,
    FaultTriggered,
    ObserverReady,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    Stamped,
    StepEnded,
    TierReported,
    VerdictIssued,
)
from vocab.journal import EventWriter
from vocab.names import rank_name
from vocab.verdict import Kind

TICK_S = 0.05
_OF_RANKS = "[fro]*"  # faults.rank*, rank*, observer*: everything but our own file


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the watch knows at its end; times are CLOCK_MONOTONIC nanoseconds."""

    ending: Ending
    first_step_ns: int | None


class Watch:
    """One run under way; `follow` returns when it is over, `heal` ends its faults."""

    def __init__(
        self,
        run: RunDirectory,
        scenario: Scenario,
        runtime: Runtime,
        events: EventWriter,
        truth: EventWriter,
        attempt: int = 1,
        fabric: FabricProcess | None = None,
    ) -> None:
        self._runtime = runtime
        self._fabric = fabric
        self._emit = events.write
        self._reader: EventReader = run.reader()
        # A restarted job appends to the files of the one before.
        self._cursor = self._reader.read("", sources=_OF_RANKS).cursor
        self._num_ranks = scenario.num_ranks
        self._pids: dict[int, int] = {}
        self._observers: list[int] = []
        self._first_step_ns: int | None = None
        self._rule = EndingRule(
            num_ranks=scenario.num_ranks,
            timeout_s=scenario.timeout_s,
            scout=None if scenario.scout == "off" else scenario.scout,
            now=time.monotonic(),
        )
        self._driver = HostDriver(
            scenario.faults_of(attempt),
            HostContext(
                send_signal=self._send_signal,
                process_state=self._state_of,
                engine=getattr(runtime, "engine", None),
            ),
            truth.write,
        )

    def follow(self, is_cancelled: Callable[[], bool]) -> Watched:
        """Watch until the run is over."""
        while True:
            self.on_news(self._runtime.poll(TICK_S))
            for stamped in self._read():
                self._on_event(stamped, time.monotonic())
            if self._fabric is not None and self._fabric.problem is not None:
                self._rule.on_lost(self._fabric.problem)
            now = time.monotonic()
            self._driver.tick(now)
            ending = self._rule.on_tick(
                now, is_cancelled=is_cancelled(), num_observers=self._num_observers()
            )
            if ending is not None:
                return Watched(ending=ending, first_step_ns=self._first_step_ns)

    def heal(self) -> None:
        """End every fault that acts from outside the ranks."""
        self._driver.finish()

    def on_news(self, news: tuple[News, ...]) -> None:
        """Write down who started and who ended how."""
        for item in news:
            match item:
                case RankStarted(rank=rank, pid=pid):
                    self._pids[rank] = pid
                    self._emit(ProcessStarted(name=rank_name(rank), pid=pid))
                    if len(self._pids) == self._num_ranks:
                        self._emit(PhaseChanged(phase="running"))
                case RankExit():
                    self._on_exit(item)
                case RuntimeLost(reason=reason):
                    self._rule.on_lost(reason)

    def _on_exit(self, ended: RankExit) -> None:
        name = rank_name(ended.rank)
        self._emit(
            ProcessExited(
                name=name,
                pid=ended.pid,
                exit_code=ended.exit_code,
                signal=ended.signal,
            )
        )
        how = f"exit code {ended.exit_code}"
        if ended.exit_code is None:
            how = f"signal {ended.signal}" if ended.signal else "its runtime"
        if ended.why:
            how = f"{how} ({ended.why})"
        self._rule.on_exit(name, how, is_clean=ended.is_clean, now=time.monotonic())

    def _on_event(self, stamped: Stamped, now: float) -> None:
        event: Event = stamped.event
        match event:
            case FaultTriggered():
                self._driver.on_triggered(event, now)
            case StepEnded(step=step):
                self._driver.on_step(stamped.source, step)
                self._rule.on_progress(now)
                if self._first_step_ns is None:
                    self._first_step_ns = stamped.t_ns
            case TierReported():
                self._rule.on_detector()
            case ObserverReady(pid=pid):
                self._observers.append(pid)
            case VerdictIssued(verdict=verdict):
                self._rule.on_verdict(now, is_hang=verdict.kind is Kind.HANG)
            case FaultInjected():
                self._rule.on_fault(1, now)
            case FaultHealed():
                self._rule.on_fault(-1, now)

    def _read(self) -> tuple[Stamped, ...]:
        batch = self._reader.read(self._cursor, sources=_OF_RANKS)
        self._cursor = batch.cursor
        return batch.events

    def _num_observers(self) -> int:
        return sum(state_of(pid) not in ("gone", "Z") for pid in self._observers)

    def _send_signal(self, rank: int, number: int) -> None:
        self._runtime.signal(rank, number)

    def _state_of(self, rank: int) -> str:
        pid = self._pids.get(rank)
        return "gone" if pid is None else state_of(pid)
