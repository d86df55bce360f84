"""A user's own torchrun script inside one rank, as it is, with SCOUT beside it.

    1 environment, rendezvous, sys.argv, sys.path, cwd: as torchrun gives them
    2 choose the recording backend, then run the script as `__main__`
    3 its first training step shows model and optimizer (`job_finder`):
      attach this rank's faults, then `enable_resiliency`
    4 each optimizer step is a step of the run; after the last one the script is left

What SCOUT cannot compare in a script it says, and does not judge. Called in a process
that the runtime made for this rank; the script's output and traceback go to its log.
"""

from __future__ import annotations

import atexit
import dataclasses
import importlib
import os
import runpy
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

import scout
import scout.enable
from harness.scenario import Scenario
from harness.store import RunDirectory
from harness.workloads.job_finder import JobFinder
from injectors.rank_driver import RankDriver
from scout.discover import examine
from scout.errors import SetupError
from scout.handle import Handle
from scout.recording import backend as recording
from scout.signature import warm_up as warm_up_signature
from vocab.events import DetectorDisabled, Problem, StepEnded
from vocab.journal import EventWriter

if TYPE_CHECKING:
    from harness.runtime.base import RankSpec

_SOURCE = str(Path(__file__).resolve().parents[2])
_NEVER = 2**31 - 1
"""Steps between checks where values cannot be compared."""


def warm_up() -> None:
    """What is slow once and the same in every rank: done before forking.

    DDP and every optimizer import the compiler at first use. Unlike our own jobs
    (decision 3) a script may need it, so it is imported here once, for all ranks.
    """
    importlib.import_module("torch._dynamo")
    warm_up_signature()


def main(spec: RankSpec) -> int:
    """Run the script in one rank; returns its exit code."""
    run = RunDirectory(path=Path(spec.run_path))
    scenario = run.scenario()
    _set_environment(spec)
    store = _rendezvous(spec)
    recording.choose()
    with (
        EventWriter(run.events, f"rank{spec.rank}") as events,
        EventWriter(run.events, f"faults.rank{spec.rank}") as truth,
    ):
        beside = Beside(spec, scenario, run, events, truth)
        beside.wait()
        try:
            return _run_script(scenario)
        finally:
            beside.leave()
            del store  # rank 0 serves it to the others until here


class Beside:
    """SCOUT and the faults beside a script, from its first training step on."""

    def __init__(
        self,
        spec: RankSpec,
        scenario: Scenario,
        run: RunDirectory,
        events: EventWriter,
        truth: EventWriter,
    ) -> None:
        self._spec = spec
        self._scenario = scenario
        self._run = run
        self._events = events
        self._finder = JobFinder(self._on_found)
        self._faults = RankDriver(
            rank=spec.rank, seed=scenario.seed, emit=truth.write
        )  # fmt: skip
        self._handle: Handle | None = None
        self._step = 0
        self._began = 0.0

    def wait(self) -> None:
        """Wait for the script to train something."""
        self._finder.watch()

    def leave(self) -> None:
        """The script is over: heal, and take SCOUT off."""
        self._finder.stop()
        self._faults.finish()
        if self._handle is not None:
            self._handle.close()
        if not self._finder.is_done:
            what = "trained no DistributedDataParallel model"
            if self._finder.model is not None:
                what = "made no step with an optimizer of the model that it trains"
            self._stay_off(f"the script {what}")

    def _on_found(self, model: DistributedDataParallel, optimizer: Optimizer) -> None:
        try:
            self._attach(model, optimizer)
        except Exception as error:  # a foreign job may hold anything; it goes on
            traceback.print_exc()
            self._stay_off(f"{type(error).__name__}: {error}")
        optimizer.register_step_post_hook(self._on_step)
        self._began = time.perf_counter()

    def _attach(self, model: DistributedDataParallel, optimizer: Optimizer) -> None:
        anatomy = examine(model, scout.ScoutConfig())
        self._faults.attach(
            self._scenario.faults_of(self._spec.attempt),
            anatomy.model,
            optimizer,
            anatomy.layers,
        )
        if self._scenario.scout == "off":
            return
        why_not = _unwatchable(model)
        if why_not:
            self._stay_off(why_not)
            return
        config = self._scenario.scout
        untold = _incomparable(model)
        if untold:
            config = dataclasses.replace(config, replay_every=_NEVER)
            self._events.write(Problem(component="scout", message=untold))
        try:
            self._handle = scout.enable.enable_resiliency(
                model, optimizer, config, journal_dir=self._run.events,
                emit=self._events.write,
            )  # fmt: skip
        except SetupError as error:  # the same on every rank: it comes before any call
            self._stay_off(str(error))

    def _stay_off(self, reason: str) -> None:
        sys.stderr.write(f"faultyard: SCOUT stays off: {reason}\n")
        self._events.write(
            DetectorDisabled(component="scout", reason=reason, step=self._step or None)
        )

    def _on_step(self, *_: Any) -> None:
        """After SCOUT's check and the faults of this boundary, as in `loop`."""
        self._step += 1
        now = time.perf_counter()
        took, self._began = now - self._began, now
        # What of the script's values is its loss, nobody says: it is not shown.
        self._events.write(StepEnded(step=self._step, duration_s=took, loss=None))
        if self._step == self._scenario.steps:
            sys.stderr.write(f"faultyard: left the script after step {self._step}\n")
            raise SystemExit(0)


def _set_environment(spec: RankSpec) -> None:
    """What torchrun tells a worker of a job on one machine."""
    ranks = {name: str(spec.rank) for name in ("RANK", "LOCAL_RANK", "ROLE_RANK")}
    sizes = {
        f"{name}WORLD_SIZE": str(spec.world_size) for name in ("", "LOCAL_", "ROLE_")
    }
    os.environ.update(
        {
            **ranks,
            **sizes,
            "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1",
            "ROLE_NAME": "default",
            "MASTER_ADDR": spec.store_host,
            "MASTER_PORT": str(spec.store_port),
            "TORCHELASTIC_RUN_ID": Path(spec.run_path).name,
            "TORCHELASTIC_RESTART_COUNT": str(spec.attempt - 1),
            # The store is there already, as with torchrun's agent.
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
    )


def _rendezvous(spec: RankSpec) -> Any:
    """The store that `init_process_group` finds at MASTER_ADDR; in rank 0 only."""
    if spec.rank != 0:
        return None
    return dist.TCPStore(  # type: ignore[attr-defined]
        spec.store_host,
        spec.store_port,
        spec.world_size,
        is_master=True,
        master_listen_fd=spec.store_fd,
        wait_for_workers=False,
    )


def _run_script(scenario: Scenario) -> int:
    workload = scenario.workload
    assert workload.script is not None, "the scenario's workload is a script"
    os.chdir(workload.cwd or os.path.dirname(workload.script))
    sys.argv = [workload.script, *workload.args]
    sys.path[0] = os.path.dirname(workload.script)
    if _SOURCE not in sys.path:
        sys.path.append(_SOURCE)  # SCOUT's own later imports
    try:
        runpy.run_path(workload.script, run_name="__main__")
    except SystemExit as leaving:
        return _exit_code(leaving.code)
    except BaseException as error:
        _print_traceback(error, workload.script)
        return 1
    finally:
        _end_as_an_interpreter_does()
    return 0


def _end_as_an_interpreter_does() -> None:
    """The process itself ends at once; the script's threads and exit hooks count."""
    # There is no public way to run either before the end of the process.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()


def _exit_code(code: Any) -> int:
    """As the interpreter's: a text is an error message."""
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


def _print_traceback(error: BaseException, script: str) -> None:
    """From the script's own first line on, as if nothing had called it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    # A script that cannot be compiled has no frame of its own: all is shown.
    traceback.print_exception(error.with_traceback(trace or error.__traceback__))


def _unwatchable(model: DistributedDataParallel) -> str:
    """Why SCOUT can say nothing of this model; empty: it can."""
    ranks = dist.get_process_group_ranks(model.process_group)
    if len(ranks) != dist.get_world_size():
        return (
            f"the model is replicated over ranks {ranks} of {dist.get_world_size()}: "
            "other ranks may do other work"
        )
    if any(type(module).__name__ == "OptimizedModule" for module in model.modules()):
        return "the model is compiled: its modules show no boundaries"
    return ""


def _incomparable(model: DistributedDataParallel) -> str:
    """Why replicas may differ in health, so that values prove nothing; empty: not."""
    if model.parameters_to_ignore:
        some = ", ".join(sorted(model.parameters_to_ignore)[:3])
        return (
            f"values are not compared: DDP keeps {some} apart on every rank; only "
            "hangs and crashes are watched for"
        )
    return ""
