"""The watch on a scripted runtime: faults driven, exits written, the end in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.runtime.base import (
    ExecResult,
    News,
    RankExit,
    RankStarted,
    RuntimeLost,
)
from harness.store import RunDirectory, Store
from harness.watch import Watch, Watched
from tests.harness.played import scenario
from tests.harness.test_store import meta
from vocab import events as ev
from vocab.events import Event
from vocab.journal import EventWriter

RUN = "20261130-221500-clean-0001"
FREEZE = {"kind": "hang.frozen", "rank": 1, "at_step": 3, "id": "freeze",
          "duration_s": 0.01}  # fmt: skip
Act = Callable[[], None]


class Script:
    """A runtime that plays news; an act of a rank may come before each poll."""

    def __init__(self, *played: tuple[News, ...] | Act) -> None:
        self._played = iter(played)
        self.signals: list[tuple[int, int]] = []

    def start(self, num_ranks: int) -> None:
        """Nothing: the script starts them."""

    def poll(self, timeout_s: float) -> tuple[News, ...]:
        step = next(self._played, ())
        if callable(step):
            step()
            return ()
        return step

    def exec(self, rank: int, argv: Sequence[str], timeout_s: float) -> ExecResult:
        raise NotImplementedError

    def signal(self, rank: int, number: int) -> bool:
        self.signals.append((rank, number))
        return True

    def stop(self, grace_s: float) -> tuple[News, ...]:
        return ()


def started(*ranks: int, pid: int = 1) -> tuple[News, ...]:
    return tuple(RankStarted(rank=rank, pid=pid) for rank in ranks)


def ended(*ranks: int, code: int | None = 0, signal: int | None = None) -> tuple[
    News, ...
]:  # fmt: skip
    return tuple(
        RankExit(rank=rank, pid=1, exit_code=code, signal=signal) for rank in ranks
    )


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return Store(tmp_path).create(scenario(), meta(RUN))


@pytest.fixture
def write(run: RunDirectory) -> Iterator[Callable[..., Act]]:
    writers: dict[str, EventWriter] = {}

    def write(source: str, *events: Event) -> Act:
        def act() -> None:
            if source not in writers:
                writers[source] = EventWriter(run.events, source).open()
            for event in events:
                writers[source].write(event)

        return act

    yield write
    for writer in writers.values():
        writer.close()


def watch(
    run: RunDirectory, runtime: Script, *faults: dict[str, Any], cancel: bool = False,
    **fields: Any,
) -> Watched:  # fmt: skip
    made = scenario(list(faults), **fields)
    with (
        EventWriter(run.events, "harness") as events,
        EventWriter(run.events, "faults.harness") as truth,
    ):
        watching = Watch(run, made, runtime, events, truth)
        watched = watching.follow(lambda: cancel)
        watching.heal()
    return watched


def written(run: RunDirectory, source: str = "harness") -> list[Event]:
    events = run.reader().read(sources=source).events
    return [item.event for item in events if not isinstance(item.event, ev.FileOpened)]


def test_starts_and_exits_are_written_down(run: RunDirectory) -> None:
    watched = watch(run, Script(started(0, 1, 2, 3), ended(0, 1), ended(2, 3)))
    assert watched.ending.reason == "finished"
    assert watched.first_step_ns is None
    kinds = [type(event).__name__ for event in written(run)]
    assert kinds == ["ProcessStarted"] * 4 + ["PhaseChanged"] + ["ProcessExited"] * 4


def test_the_first_step_of_any_rank_is_noted(
    run: RunDirectory, write: Callable[..., Act]
) -> None:
    step = ev.StepEnded(step=1, duration_s=0.1, loss=1.0)
    watched = watch(
        run,
        Script(started(0, 1, 2, 3), write("rank2", step), write("rank0", step),
               ended(0, 1, 2, 3)),
    )  # fmt: skip
    steps = [
        item.t_ns
        for item in run.reader().read().events
        if isinstance(item.event, ev.StepEnded)
    ]
    assert watched.first_step_ns == min(steps)


def test_a_death_is_told_with_its_signal(run: RunDirectory) -> None:
    watched = watch(
        run,
        Script(started(0, 1, 2, 3), ended(2, code=None, signal=9), ended(0, 1, 3)),
        scout="off",
    )
    assert watched.ending.reason == "rank-died"
    assert watched.ending.detail == "rank2 ended with signal 9"


def test_an_exit_that_nobody_saw_is_told_as_such(run: RunDirectory) -> None:
    lost = (*ended(0, 1, 2, 3, code=None), RuntimeLost(reason="zygote ended with -9"))
    watched = watch(run, Script(started(0, 1, 2, 3), lost))
    assert watched.ending.reason == "infrastructure"
    assert watched.ending.detail == "zygote ended with -9"


def test_a_cancel_ends_the_watch(run: RunDirectory) -> None:
    watched = watch(run, Script(started(0, 1, 2, 3)), cancel=True)
    assert watched.ending.reason == "cancelled"


def test_too_long_is_a_timeout(run: RunDirectory) -> None:
    watched = watch(run, Script(started(0, 1, 2, 3)), timeout_s=0.001)
    assert watched.ending.reason == "timeout"


def test_a_trigger_is_answered_with_proof_and_heal(
    run: RunDirectory, write: Callable[..., Act], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.watch.state_of", lambda pid: "T")
    monkeypatch.setattr("injectors.hang_frozen._STATE_WAIT_S", 0.0)
    trigger = ev.FaultTriggered(fault_id="freeze", kind="hang.frozen", step=3)
    runtime = Script(
        started(0, 1, 2, 3), write("faults.rank1", trigger), (), ended(0, 1, 2, 3)
    )
    watch(run, runtime, FREEZE)
    told = written(run, "faults.harness")
    assert [type(event).__name__ for event in told] == ["FaultInjected", "FaultHealed"]
    assert (1, 18) in runtime.signals  # SIGCONT to the frozen rank


def test_a_fault_that_still_acts_is_healed_at_the_end(
    run: RunDirectory, write: Callable[..., Act], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.watch.state_of", lambda pid: "T")
    monkeypatch.setattr("injectors.hang_frozen._STATE_WAIT_S", 0.0)
    trigger = ev.FaultTriggered(fault_id="freeze", kind="hang.frozen", step=3)
    runtime = Script(
        started(0, 1, 2, 3), write("faults.rank1", trigger), ended(0, 1, 2, 3)
    )
    watch(run, runtime, {**FREEZE, "duration_s": 600})
    assert [type(event).__name__ for event in written(run, "faults.harness")] == [
        "FaultInjected", "FaultHealed",
    ]  # fmt: skip


def test_observers_that_live_are_waited_for_after_a_death(
    run: RunDirectory, write: Callable[..., Act], monkeypatch: pytest.MonkeyPatch
) -> None:
    living = ["S", "S", "gone"]
    monkeypatch.setattr("harness.watch.state_of", lambda pid: living.pop(0))
    tier = ev.TierReported(tier="boundaries", sees=(), blind=())
    ready = ev.ObserverReady(rank=0, pid=77, startup_s=0.1, rss_bytes=1)
    watched = watch(
        run,
        Script(write("rank0", tier), write("observer0", ready),
               ended(0, 1, 2, 3, code=1)),
    )  # fmt: skip
    assert watched.ending.reason == "rank-died"
    assert living == []
