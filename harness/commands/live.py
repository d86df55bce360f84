"""Shows a run while it goes on: steps per rank, faults, verdicts as they come.

Called by `run` and `demo`. Reads the run directory only; what it says of a verdict is
what the run page says. On a terminal the ranks' bars move; a pipe gets one line per
thing that happens and one for each tenth of the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from harness.launch import cancel, follow
from harness.scenario import Scenario
from harness.store import RunDirectory
from harness.views.cards import VerdictCard, cards
from harness.views.source import RunLog
from vocab.events import (
    DetectorDisabled,
    DetectorRestarted,
    FaultFailed,
    FaultHealed,
    FaultInjected,
    IncidentClosed,
    PhaseChanged,
    Problem,
    ProcessExited,
    Stamped,
    StepEnded,
    VerdictIssued,
)
from vocab.names import rank_name

_TOLD_PHASES = {
    "starting": "starting: importing torch",
    "running": "running",
    "healing": "ranks are done; healing what is left",
    "checking": "checking what was found against what was expected",
}


def watch(run: RunDirectory, scenario: Scenario, console: Console) -> None:
    """Show the run until it is over; Ctrl-C cancels it, a second one leaves it."""
    with LiveRun(run, scenario, console) as live:
        batches = follow(run)
        asked = False
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                for stamped in batch.events:
                    live.on_event(stamped)
            except KeyboardInterrupt:
                if asked or not cancel(run):
                    raise
                asked = True
                live.tell("cancelling; press Ctrl-C again to leave it to itself")
                batches = follow(run, cursor=live.cursor)
            else:
                live.cursor = batch.cursor


class LiveRun:
    """What is on the screen for one run."""

    def __init__(self, run: RunDirectory, scenario: Scenario, console: Console) -> None:
        self.cursor = ""
        self._run = run
        self._num_steps = scenario.steps
        self._console = console
        self._log = RunLog(run)
        self._began_ns: int | None = None
        self._steps = dict.fromkeys(map(rank_name, range(scenario.num_ranks)), 0)
        self._told_steps = 0
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("steps  {task.fields[note]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> LiveRun:
        for name in self._steps:
            self._tasks[name] = self._bars.add_task(
                name, total=self._num_steps, note=""
            )
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def on_event(self, stamped: Stamped) -> None:
        """Show one event."""
        if self._began_ns is None:
            self._began_ns = stamped.t_ns
        event, at = stamped.event, self._at(stamped)
        match event:
            case StepEnded():
                self._on_step(stamped.source, event, at)
            case VerdictIssued():
                self._on_verdict(event.verdict.verdict_id, at)
            case _:
                text = _TELL.get(type(event), _nothing)(event)
                if text:
                    self.tell(text, at)

    def tell(self, text: str, at: str = "", style: str = "") -> None:
        """Write a line above the bars."""
        self._console.print(f"{at:>9}  {text}", style=style or None, soft_wrap=True)

    def _on_step(self, source: str, event: StepEnded, at: str) -> None:
        if source not in self._steps:
            return
        self._steps[source] = max(self._steps[source], event.step)
        loss = "" if event.loss is None else f"loss {event.loss:.4f}"
        self._bars.update(self._tasks[source], completed=self._steps[source], note=loss)
        done = min(self._steps.values())
        tenth = max(1, self._num_steps // 10)
        if not self._console.is_terminal and done >= self._told_steps + tenth:
            self._told_steps = done
            self.tell(f"step {done} of {self._num_steps} done by every rank", at)

    def _on_verdict(self, verdict_id: str, at: str) -> None:
        card = next(
            (c for c in cards(self._log.read()) if c.verdict_id == verdict_id), None
        )
        if card is None:
            return
        self.tell(f"VERDICT  {card.headline}", at, style="bold yellow")
        for line in verdict_lines(card):
            self.tell(line)

    def _at(self, stamped: Stamped) -> str:
        assert self._began_ns is not None
        return f"{(stamped.t_ns - self._began_ns) / 1e9:.1f} s"


def verdict_lines(card: VerdictCard) -> list[str]:
    """Why, how sure and what next, one line each."""
    lines = [f"why      {card.why}"]
    sure = f"votes {card.votes_text}; confirmations {card.confirmations_text}"
    lines.append(f"sure     {sure}")
    if card.needed:
        lines.append(f"needed   {card.needed}")
    lines.append(f"next     {card.next_text}")
    return lines


def _nothing(event: object) -> str:
    return ""


def _phase(event: PhaseChanged) -> str:
    if event.phase == "queued":
        return f"queued: {event.detail}"
    return _TOLD_PHASES.get(event.phase, "")


def _injected(event: FaultInjected) -> str:
    changes = "; ".join(f"{c.what}: {c.before} -> {c.after}" for c in event.changes)
    return f"INJECTED {event.label} into {', '.join(event.targets)}: {changes}"


def _healed(event: FaultHealed) -> str:
    residue = f" ({event.residue})" if event.residue else ""
    return f"HEALED   {event.kind} of {', '.join(event.targets)}{residue}"


def _failed(event: FaultFailed) -> str:
    return f"NOT INJECTED {event.fault_id}: {event.reason}"


def _disabled(event: DetectorDisabled) -> str:
    return f"{event.component} switched itself off: {event.reason}"


def _restarted(event: DetectorRestarted) -> str:
    return f"{event.component} {event.reason}"


def _problem(event: Problem) -> str:
    fix = f" ({event.fix})" if event.fix else ""
    return f"PROBLEM  {event.component}: {event.message}{fix}"


def _exited(event: ProcessExited) -> str:
    if event.exit_code == 0:
        return ""
    how = f"signal {event.signal}" if event.signal else f"exit code {event.exit_code}"
    return f"{event.name} ended with {how}"


def _closed(event: IncidentClosed) -> str:
    where = "" if event.step is None else f" at step {event.step}"
    return f"closed   {event.verdict_id}{where}: {event.why}"


_TELL: dict[type, Callable[..., str]] = {
    PhaseChanged: _phase,
    FaultInjected: _injected,
    FaultHealed: _healed,
    FaultFailed: _failed,
    DetectorDisabled: _disabled,
    DetectorRestarted: _restarted,
    Problem: _problem,
    ProcessExited: _exited,
    IncidentClosed: _closed,
}
