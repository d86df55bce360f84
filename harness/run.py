"""Runs one run directory: `python -m harness.run RUN_DIR [TICKET_FD]`.

Started by `launch` as a process of its own. It imports little at the top on purpose:
the zygote, which needs seconds to import torch, is started first and the rest is
imported meanwhile. It judges nothing itself: `checks` does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness import queue
from harness.errors import InfrastructureError
from harness.runtime.process import WORKLOAD, ProcessRuntime, prepare
from vocab.events import PhaseChanged, ProcessStarted, RunEnded, RunStarted
from vocab.journal import EventWriter

if TYPE_CHECKING:
    from harness.fabric.process import FabricProcess
    from harness.runtime.docker import DockerRuntime
    from harness.store import RunDirectory
    from harness.watch import Watch, Watched

_STOP_GRACE_S = 1.0
_RESTARTED = ("rank-died", "stalled")  # what a launcher starts again after


def main(argv: list[str]) -> int:
    """Run one run directory from its place in the queue to its stored outcome.

    1. wait for the slot: one run at a time
    2. start the zygote, which imports torch; import our own things meanwhile
    3. heal first: end what killed runs left behind; start the fabric, if any
    4. start the ranks
    5. watch them until they are done, dead, late or cancelled; where the scenario
       allows restarts, do 6, 7, 2 and 4 and watch again
    6. heal: end every fault
    7. stop whatever is left
    8. write how it ended, and tidy up: nobody can cancel any more
    9. check what was expected against what was found; write the results
    10. index them
    """
    path = Path(argv[0]).resolve()
    ticket = _take_ticket(path, argv[1:])
    with EventWriter(path / "events", "harness") as events:
        attempt = Attempt(path, events)
        try:
            if attempt.wait_for_slot(ticket):  # 1
                attempt.start_zygote()  # 2
                attempt.heal_leftovers()  # 3
                attempt.start_fabric()  # 3
                attempt.start_ranks()  # 4
                attempt.watch()  # 5
        except Exception as error:  # the machine's fault or ours, never a finding
            attempt.note_failure(error)
        attempt.heal()  # 6
        attempt.stop()  # 7
        attempt.write_ended()  # 8
        attempt.check()  # 9
    attempt.index()  # 10
    ticket.leave()
    return 0


class Attempt:
    """The numbered steps of one run, and what each leaves for the next."""

    def __init__(self, path: Path, events: EventWriter) -> None:
        self._path = path
        self._events = events
        self._is_cancelled = False
        self._attempt = 0  # starts of the job
        self._began_ns = 0  # wall time that durations count from
        self._runtime: ProcessRuntime | DockerRuntime | None = None
        self._fabric: FabricProcess | None = None
        self._truth: EventWriter | None = None
        self._watch: Watch | None = None
        self._watched: Watched | None = None
        self._failure: str | None = None

    def wait_for_slot(self, ticket: queue.Ticket) -> bool:
        """Wait until this run is the first of the queue; False if cancelled before."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        waited: list[int] = []

        def on_wait(ahead: int) -> None:
            waited.append(ahead)
            self._enter("queued", f"{ahead} ahead")

        if not queue.wait_turn(ticket, is_given_up=self._asked_to_end, on_wait=on_wait):
            return False
        if waited:
            self._began_ns = time.time_ns()
        return True

    def start_zygote(self) -> None:
        """Have torch imported in another process while this one imports the rest."""
        self._enter("starting")
        self._attempt += 1
        if _is_of_containers(self._path):
            self._start_hosts()
            return
        self._runtime = prepare(
            str(self._path), self._path.name, workload=_workload_of(self._path),
            attempt=self._attempt,
        )  # fmt: skip
        self._events.write(ProcessStarted(name="zygote", pid=self._runtime.zygote_pid))

    def _start_hosts(self) -> None:
        from harness.runtime.docker import prepare as prepare_hosts

        scenario = self._run().scenario()
        self._runtime = runtime = prepare_hosts(
            str(self._path), self._path.name, workload=_workload_of(self._path),
            num_ranks=scenario.num_ranks, hosts=scenario.hosts, attempt=self._attempt,
        )  # fmt: skip
        self._events.write(ProcessStarted(name="hosts", pid=runtime.zygote_pid))

    def heal_leftovers(self) -> None:
        """End what killed runs left on this machine, and close their records."""
        from harness.closing import close_killed
        from harness.leftovers import sweep

        spare = (self._path.name,)
        for removed in sweep(self._path.parent, spare=spare):
            sys.stderr.write(f"removed {removed.what} of {removed.run_id}\n")
        for run in close_killed(self._path.parent, spare=spare):
            sys.stderr.write(f"closed {run.run_id}, which was killed\n")

    def start_fabric(self) -> None:
        """The network between hosts, where the scenario has one: a process."""
        from harness.fabric.process import FabricProcess

        if self._run().scenario().fabric != "none":
            self._fabric = FabricProcess.start(self._path)
            self._events.write(ProcessStarted(name="fabric", pid=self._fabric.pid))

    def start_ranks(self) -> None:
        """Say what runs, and start it."""
        from harness.watch import Watch

        assert self._runtime is not None
        run = self._run()
        scenario, meta = run.scenario(), run.meta()
        if meta is not None and self._attempt == 1:
            self._began_ns = self._began_ns or meta.created_wall_ns
            self._events.write(
                RunStarted(
                    run_id=meta.run_id,
                    title=meta.title,
                    seed=meta.seed,
                    num_ranks=meta.num_ranks,
                    num_steps=meta.num_steps,
                    command=meta.command,
                    commit=meta.commit,
                    dirty=meta.dirty,
                )
            )
        self._truth = EventWriter(run.events, "faults.harness").open()
        self._watch = Watch(
            run,
            scenario,
            self._runtime,
            self._events,
            self._truth,
            self._attempt,
            self._fabric,
        )
        self._runtime.start(scenario.num_ranks)

    def watch(self) -> None:
        """Follow the run to its end, through the restarts that it is allowed."""
        assert self._watch is not None
        self._watched = self._watch.follow(self._asked_to_end)
        first_step_ns = self._watched.first_step_ns
        for _ in range(self._run().scenario().restarts):
            if self._watched.ending.reason not in _RESTARTED:
                return
            self.heal()
            self.stop()
            self._enter("restarting", self._watched.ending.detail)
            self.start_zygote()
            self.start_ranks()
            watched = self._watch.follow(self._asked_to_end)
            self._watched = replace(watched, first_step_ns=first_step_ns)

    def note_failure(self, error: Exception) -> None:
        """Keep what broke for the results; the traceback is in logs/harness.log."""
        traceback.print_exc()
        is_plain = isinstance(error, InfrastructureError)
        self._failure = str(error) if is_plain else f"{type(error).__name__}: {error}"

    def heal(self) -> None:
        """End every fault that acts from outside the ranks."""
        self._enter("healing")
        if self._watch is not None:
            self._watch.heal()

    def stop(self) -> None:
        """End fabric, ranks, zygote and observers."""
        if self._fabric is not None:
            self._fabric.stop(_STOP_GRACE_S)
            self._fabric = None
        if self._runtime is not None:
            news = self._runtime.stop(_STOP_GRACE_S)
            if self._watch is not None:
                self._watch.on_news(news)
        if self._truth is not None:
            self._truth.close()

    def write_ended(self) -> None:
        """Phase 2: the processes are gone, and so is what they shared."""
        from harness.leftovers import tidy
        from harness.store import Ended

        now_ns = time.time_ns()
        began_ns = self._began_ns or now_ns
        first_step_s = None
        if self._watched is not None and self._watched.first_step_ns is not None:
            ago_ns = time.monotonic_ns() - self._watched.first_step_ns
            first_step_s = (now_ns - ago_ns - began_ns) / 1e9
        reason, detail = self._how_it_ended()
        self._run().write_ended(
            Ended(
                reason=reason,
                detail=detail,
                wall_s=(now_ns - began_ns) / 1e9,
                first_step_s=first_step_s,
            )
        )
        tidy(self._run())

    def check(self) -> None:
        """Phase 3: score, tell, and store the results last: then all is said."""
        from harness.closing import judge

        self._enter("checking")
        results = judge(self._run())
        self._events.write(
            RunEnded(outcome=results.outcome.value, reason=results.reason)
        )
        self._enter("ended")
        self._run().write_results(results)

    def index(self) -> None:
        """Put the run into the index, which can be rebuilt if this fails."""
        from harness.index import Index

        try:
            Index.of(self._path.parent).put(self._run())
        except Exception:
            traceback.print_exc()

    def _how_it_ended(self) -> tuple[str, str]:
        if self._failure is not None:
            return "infrastructure", self._failure
        if self._watched is not None:
            return self._watched.ending.reason, self._watched.ending.detail
        return "cancelled", "asked to end while it was queued"

    def _run(self) -> RunDirectory:
        from harness.store import RunDirectory

        return RunDirectory(path=self._path)

    def _enter(self, phase: str, detail: str = "") -> None:
        self._events.write(PhaseChanged(phase=phase, detail=detail))

    def _asked_to_end(self) -> bool:
        return self._is_cancelled or (self._path / "control" / "cancel").exists()

    def _on_signal(self, number: int, frame: object) -> None:
        self._is_cancelled = True


def _workload_of(path: Path) -> str:
    """The module that ranks run, by the plain file: `store` is not imported yet."""
    try:
        name = json.loads((path / "meta.json").read_text())["workload"]
    except (OSError, ValueError, KeyError):
        return WORKLOAD
    return f"harness.workloads.{name}"


def _is_of_containers(path: Path) -> bool:
    """By the plain file: a scenario without that line imports nothing yet."""
    try:
        text = (path / "scenario.yaml").read_text(encoding="utf-8")
    except OSError:
        return False
    return "\nruntime: docker\n" in f"\n{text}\n"


def _take_ticket(path: Path, arguments: list[str]) -> queue.Ticket:
    if arguments:
        return queue.adopt(path.parent, path.name, int(arguments[0]))
    return queue.join(path.parent, path.name)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # At once: without its ticket a process that lingers looks like one left behind.
    os._exit(code)
