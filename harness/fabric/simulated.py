"""The fabric process: `python -m harness.fabric.simulated RUN_DIR PARENT_PID`.

    ranks ──begin, finish──► this ──► Player (packets) ──► counters
                                └──► Detection (SprayCheck) ──► verdicts

    1 die with the run   2 read the scenario, find s, load the kernels   3 listen
    4 carry step after step   5 tell what is open, heal

Started by `process`, a process of its own with files of its own: `fabric`, `leaf0` ...,
`monitor`, and `faults.fabric` for the truth, which the detection never sees. It carries
packets and never decides who is at fault.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from harness.fabric.calibration import sensitivities
from harness.fabric.detection import FABRIC, Detection
from harness.fabric.exchange import Exchange, Message
from harness.fabric.journal import Journal
from harness.fabric.player import Begun, Counted, Player
from harness.fabric.settings import SimulatedFabric
from harness.fabric.switchboard import Switchboard
from harness.runtime.lifeline import die_with_parent, name_process
from harness.scenario import Scenario
from harness.store import RunDirectory
from injectors.fabric_driver import FabricDriver
from spraycheck.simulator import Sprayed, spray_counts
from vocab.events import Problem
from vocab.fabric_events import (
    ExchangeEnded,
    ExchangeWaited,
    FabricEnded,
    FabricReady,
    FlowAnnounced,
    FlowCounted,
    RoutingChanged,
)
from vocab.journal import EventWriter
from vocab.names import leaf_name

_POLL_S = 0.1
_WAIT_S = 1.0  # before the first word about a step that does not go on


@dataclass(slots=True)
class Fabric:
    """A fabric that carries one job."""

    settings: SimulatedFabric
    player: Player
    driver: FabricDriver
    journal: Journal
    disabled: tuple[str, ...] = ()
    step: int = 0
    wall_s: float = field(default=0.0)

    def ready(self, scenario: Scenario, startup_s: float, pid: int) -> None:
        """Say what the leaves compare with."""
        graph = self.settings.graph(scenario.num_ranks)
        self.disabled = self.settings.disabled
        self.journal.write(
            FABRIC,
            FabricReady(
                num_leaves=graph.num_leaves,
                num_spines=graph.num_spines,
                policy=self.settings.policy,
                load=self.settings.load,
                burst_pkts=self.settings.burst_pkts,
                model=self.settings.model,
                min_packets_per_spine=self.settings.min_packets_per_spine,
                wanted_drop_frac=self.settings.wanted_drop_frac,
                patience_s=self.settings.patience_s,
                sensitivities=sensitivities(self.settings),
                disabled=self.settings.disabled,
                pid=pid,
                startup_s=startup_s,
            ),
        )

    def begin(self, step: int, job_bytes: int) -> None:
        """Every rank has announced its flows: play them half."""
        began = time.perf_counter()
        self.step = step
        begun = self.player.begin(step, job_bytes, self.driver.effects(step))
        self._route(begun)
        for item in begun.announced:
            self.journal.write(
                leaf_name(item.target_leaf),
                FlowAnnounced(
                    step=step,
                    source_leaf=item.source_leaf,
                    target_leaf=item.target_leaf,
                    dest_qp=item.dest_qp,
                    first_psn=item.first_psn,
                    num_packets=item.num_packets,
                    sequence=item.sequence,
                ),
            )
        self._count(self.player.middle(), is_over=False)
        self.wall_s = time.perf_counter() - began

    def finish(self, job_bytes: int) -> float:
        """Every rank waits: play the rest; returns how long the job is held up."""
        began = time.perf_counter()
        played = self.player.finish()
        self.driver.on_played(played.trace)
        self._count(played.counted, is_over=True)
        delayed_s = played.extra_s * self.settings.dilation
        self.journal.write(
            FABRIC,
            ExchangeEnded(
                step=self.step,
                job_bytes=job_bytes,
                num_packets=played.num_packets,
                simulated_s=played.simulated_s,
                extra_s=played.extra_s,
                delayed_s=delayed_s,
                wall_s=self.wall_s + time.perf_counter() - began,
            ),
        )
        return delayed_s

    def wait(self, waited_s: float, missing: tuple[int, ...]) -> None:
        """The step does not go on."""
        self.journal.write(
            FABRIC,
            ExchangeWaited(step=self.step, waited_s=waited_s, missing=missing),
        )

    def end(self, why: str) -> None:
        """Nothing more comes."""
        self.driver.finish(self.step)
        self.journal.write(FABRIC, FabricEnded(step=self.step, why=why))

    def _route(self, begun: Begun) -> None:
        disabled = tuple(sorted(map(str, begun.graph.disabled)))
        if disabled != tuple(sorted(self.disabled)):
            self.disabled = disabled
            self.journal.write(
                FABRIC, RoutingChanged(step=begun.step, disabled=disabled)
            )

    def _count(self, counted: tuple[Counted, ...], *, is_over: bool) -> None:
        for item in counted:
            self.journal.write(
                leaf_name(item.target_leaf),
                FlowCounted(
                    step=self.step,
                    dest_qp=item.dest_qp,
                    counts=item.counts,
                    is_over=is_over,
                ),
            )


def serve(fabric: Fabric, board: Switchboard, num_ranks: int) -> str:
    """Carry steps until every rank has left, or we are asked to end; why it ended."""
    exchange = Exchange(num_ranks=num_ranks)
    opened_s, told_s = time.monotonic(), _WAIT_S
    while not board.is_asked_to_end:
        messages = board.receive(_POLL_S)
        for message in messages:
            _act(fabric, board, exchange, message)
        if exchange.num_left == num_ranks:
            return "every rank has left"
        now_s = time.monotonic()
        if messages:
            opened_s, told_s = now_s, _WAIT_S
        elif fabric.step and exchange.missing and now_s - opened_s >= told_s:
            fabric.wait(now_s - opened_s, exchange.missing)
            told_s *= 2
    return "asked to end"


def _act(
    fabric: Fabric, board: Switchboard, exchange: Exchange, message: Message
) -> None:
    happened = exchange.on_message(message)
    if happened.begins is not None:
        fabric.begin(happened.begins, exchange.job_bytes)
    if happened.finishes is not None:
        delay_s = fabric.finish(exchange.job_bytes)
        board.answer_all(step=happened.finishes, delay_s=delay_s)


def main(argv: list[str]) -> int:
    """Run the fabric of one run directory; see the numbered list above."""
    began = time.monotonic()
    die_with_parent(int(argv[1]))  # 1
    name_process("fabric")
    run = RunDirectory(path=Path(argv[0]))
    scenario = run.scenario()  # 2
    settings = scenario.fabric
    if settings == "none":
        raise ValueError("fabric is 'none'; allowed: simulated")
    board = Switchboard(run.control, scenario.num_ranks)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: board.ask_to_end())
    warm_up()
    with EventWriter(run.events, "faults.fabric") as truth:
        fabric = Fabric(
            settings=settings,
            player=Player(settings, scenario.num_ranks, scenario.seed),
            driver=FabricDriver(
                scenario.fabric_faults(), seed=scenario.seed, emit=truth.write
            ),
            journal=Journal(run.events, Detection()),
        )
        try:
            fabric.ready(scenario, time.monotonic() - began, board.pid)
            board.listen()  # 3
            why = serve(fabric, board, scenario.num_ranks)  # 4
            fabric.end(why)  # 5
        except Exception as error:  # ours: said by name, never a finding
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
            fabric.journal.write(FABRIC, Problem(component="fabric", message=message))
            return 1
        finally:
            board.close()
            fabric.journal.close()
    return 0


def warm_up() -> None:
    """Load the kernels: the first packets must not wait for a compiler."""
    spray_counts(Sprayed(num_spines=2, num_packets=16, load=0.5), range(1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
