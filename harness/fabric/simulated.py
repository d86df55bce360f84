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
from pathlib import Path

from harness.fabric.calibration import sensitivities
from harness.fabric.carrier import Fabric
from harness.fabric.detection import FABRIC, Detection
from harness.fabric.exchange import Exchange, Message
from harness.fabric.journal import Journal
from harness.fabric.player import Player
from harness.fabric.switchboard import Switchboard
from harness.runtime.lifeline import die_with_parent, name_process
from harness.store import RunDirectory
from injectors.fabric_driver import FabricDriver
from spraycheck.simulator import Sprayed, spray_counts
from vocab.events import Problem
from vocab.journal import EventWriter

_POLL_S = 0.1
_WAIT_S = 1.0  # before the first word about a step that does not go on


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
    found = sensitivities(settings)
    warm_up()
    journal = Journal(run.events, Detection())
    with EventWriter(run.events, "faults.fabric") as truth:
        fabric = Fabric(
            settings=settings,
            player=Player(settings, scenario.num_ranks, scenario.seed),
            driver=FabricDriver(
                scenario.fabric_faults(), seed=scenario.seed, emit=truth.write
            ),
            journal=journal,
        )
        try:
            fabric.ready(
                scenario.num_ranks,
                found,
                startup_s=time.monotonic() - began,
                pid=board.pid,
            )
            board.listen()  # 3
            why = serve(fabric, board, scenario.num_ranks)  # 4
            fabric.end(why)  # 5
        except Exception as error:  # ours: said by name, never a finding
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
            journal.write(FABRIC, Problem(component="fabric", message=message))
            return 1
        finally:
            board.close()
            journal.close()
    return 0


def warm_up() -> None:
    """Load the kernels: the first packets must not wait for a compiler."""
    spray_counts(Sprayed(num_spines=2, num_packets=16, load=0.5), range(1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
