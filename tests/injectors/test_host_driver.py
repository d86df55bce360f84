"""Faults from outside: begun by the rank's trigger, ended by the clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from injectors.contention_neighbour import ContentionNeighbour
from injectors.fault import HostContext, RankParameters
from injectors.hang_frozen import HangFrozen
from injectors.host_driver import HostDriver
from injectors.null import Null
from vocab.events import (
    Event,
    FaultFailed,
    FaultHealed,
    FaultInjected,
    FaultTriggered,
)


@dataclass
class Machine:
    """Process states that signals change."""

    states: dict[int, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def driver(self, *faults: RankParameters) -> HostDriver:
        context = HostContext(send_signal=self.signal, process_state=self.states.get)  # type: ignore[arg-type]
        named = [(f"fault-{index}", fault) for index, fault in enumerate(faults)]
        return HostDriver(named, context, self.events.append)

    def signal(self, rank: int, number: int) -> None:
        if number == 18:  # SIGCONT
            self.states[rank] = "S"


FREEZE = HangFrozen(kind="hang.frozen", rank=2, at_step=6, duration_s=5.0)
TRIGGER = FaultTriggered(fault_id="fault-0", kind="hang.frozen", step=6)


def names(machine: Machine) -> list[str]:
    return [type(event).__name__ for event in machine.events]


def test_a_trigger_is_proven_and_healed_after_its_duration() -> None:
    machine = Machine({2: "T"})
    driver = machine.driver(FREEZE)
    driver.tick(0.0)
    assert machine.events == []
    driver.on_triggered(TRIGGER, 100.0)
    injected = machine.events[0]
    assert isinstance(injected, FaultInjected)
    assert (injected.targets, injected.step) == (("rank2",), 6)
    driver.tick(104.9)
    assert machine.states == {2: "T"}
    driver.tick(105.0)
    driver.tick(200.0)
    assert machine.states == {2: "S"}
    assert names(machine) == ["FaultInjected", "FaultHealed"]
    healed = machine.events[1]
    assert isinstance(healed, FaultHealed)
    assert (healed.num_strikes, healed.step) == (1, 6)


def test_the_end_of_the_run_heals_what_is_active() -> None:
    machine = Machine({2: "T"})
    driver = machine.driver(FREEZE)
    driver.on_triggered(TRIGGER, 100.0)
    driver.finish()
    driver.finish()
    assert machine.states == {2: "S"}
    assert names(machine) == ["FaultInjected", "FaultHealed"]


def test_a_second_trigger_of_an_active_fault_changes_nothing() -> None:
    machine = Machine({2: "T"})
    driver = machine.driver(FREEZE)
    driver.on_triggered(TRIGGER, 100.0)
    driver.on_triggered(TRIGGER, 101.0)
    driver.tick(105.0)
    assert names(machine) == ["FaultInjected", "FaultHealed"]


def test_without_proof_the_fault_failed_and_nothing_stays_stopped() -> None:
    machine = Machine({2: "gone"})
    driver = machine.driver(FREEZE)
    driver.on_triggered(TRIGGER, 100.0)
    assert names(machine) == ["FaultFailed"]
    failed = machine.events[0]
    assert isinstance(failed, FaultFailed)
    assert "rank2 did not stop: state gone" in failed.reason


def test_a_rank_that_stops_too_late_is_let_go_all_the_same() -> None:
    machine = Machine({2: "gone"})
    driver = machine.driver(FREEZE)
    asked: list[int] = []

    def state(rank: int) -> str:
        asked.append(rank)
        return "gone" if len(asked) == 1 else machine.states[rank]

    context = HostContext(send_signal=machine.signal, process_state=state)
    machine.states[2] = "T"
    driver = HostDriver([("fault-0", FREEZE)], context, machine.events.append)
    driver.on_triggered(TRIGGER, 100.0)
    assert names(machine) == ["FaultFailed"]
    assert machine.states == {2: "S"}


def test_faults_inside_ranks_and_strangers_are_ignored() -> None:
    machine = Machine()
    driver = machine.driver(Null(kind="null", rank=0, at_step=1))
    driver.on_triggered(TRIGGER, 0.0)
    driver.tick(1e9)
    driver.finish()
    assert machine.events == []


def test_a_fault_without_duration_ends_with_the_last_step_of_its_window() -> None:
    machine = Machine()
    neighbour = ContentionNeighbour(
        kind="contention.neighbour", at_step=2, until_step=5, num_processes=1
    )
    driver = machine.driver(neighbour)
    trigger = FaultTriggered(fault_id="fault-0", kind="contention.neighbour", step=2)
    driver.on_triggered(trigger, 0.0)
    driver.tick(1e9)
    driver.on_step("rank0", 4)
    driver.on_step("rank3", 5)
    assert names(machine) == ["FaultInjected"]
    driver.on_step("rank0", 5)
    driver.on_step("rank0", 6)
    driver.finish()
    assert names(machine) == ["FaultInjected", "FaultHealed"]
    injected, healed = machine.events
    assert isinstance(injected, FaultInjected)
    assert isinstance(healed, FaultHealed)
    assert injected.targets == healed.targets == ("host0",)
    assert injected.changes[0].after == "1 that spin"
    assert healed.changes[0].after == "none"
