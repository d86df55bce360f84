"""`enable_resiliency`: SCOUT beside an unchanged training loop, in one call (sec. 9).

    optimizer pre-hook    boundary `optimizer`; clone the slice of a sampled step
    optimizer post-hook   sampled? check ─► evidence ─► decider ─► events and handle
                          next step: boundary `data`, capture hooks if it is sampled

Works in any script that has called `init_process_group`. A failing diagnosis switches
itself off on all peers together, says so once, and training goes on. SCOUT changes no
weight, gradient, optimizer state or random stream.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.optim import Optimizer

from scout.boundaries import Boundaries
from scout.c3 import Exchange
from scout.check import Checker
from scout.collective_time import CollectiveTime
from scout.config import ScoutConfig
from scout.decide import CheckDecider
from scout.discover import Anatomy, examine
from scout.errors import ExchangeFailed, SetupError
from scout.evidence import BROKEN
from scout.handle import Handle, Tier
from scout.loop_time import LoopTime
from scout.mesh import Capability, Mesh
from scout.phase_times import PhaseTimes
from scout.phases import Phases
from scout.recording.backend import recording_tape
from scout.signature import warm_up
from scout.watch import Watch
from vocab.events import (
    CheckCompleted,
    DetectorDisabled,
    Event,
    IncidentClosed,
    Stamped,
    TierReported,
    VerdictIssued,
)
from vocab.journal import EventWriter
from vocab.verdict import EvidenceRef

logger = logging.getLogger("scout")

Emit = Callable[[Event], Stamped]


def enable_resiliency(
    model: torch.nn.Module,
    optimizer: Optimizer,
    config: ScoutConfig | None = None,
    *,
    mesh: Mesh | None = None,
    journal_dir: Path | None = None,
    emit: Emit | None = None,
    management_host: str = "127.0.0.1",
) -> Handle:
    """Attach SCOUT to a model and its optimizer; every rank of the job must call this.

    Args:
        model: wrapped in DistributedDataParallel or not.
        optimizer: whose `step` is the boundary at which checks run.
        config: settings; the defaults of `ScoutConfig` otherwise.
        mesh: the parallel layout; data parallel over all ranks otherwise.
        journal_dir: folder for event files of this rank and its observer; without it
            verdicts go to the log and to the handle only.
        emit: writes this rank's events in place of a file in `journal_dir`.
        management_host: address of this host at which its observer listens, in a
            network that is not the one under test; its peers' hosts must reach it.

    Raises:
        SetupError: no process group yet, or the config names what is not there.
        MeshError: the mesh has another number of ranks than the job.
    """
    if not dist.is_initialized():
        raise SetupError(
            "enable_resiliency needs a process group: call "
            "torch.distributed.init_process_group first"
        )
    config = config or ScoutConfig()
    mesh = mesh or Mesh.from_sizes(replicate=dist.get_world_size())
    if mesh.world_size != dist.get_world_size():
        raise SetupError(
            f"the mesh has {mesh.world_size} ranks, the job {dist.get_world_size()}"
        )
    anatomy = examine(model, config)
    writer: EventWriter | None = None
    if emit is None and journal_dir is not None:
        writer = EventWriter(journal_dir, f"rank{dist.get_rank()}").open()
        emit = writer.write
    warm_up()
    session = _Session(anatomy, optimizer, config, mesh, emit, journal_dir, writer,
                       management_host)  # fmt: skip
    session.start()
    return session.handle


class _Session:
    """SCOUT's life in one rank: hooks, checks, and switching itself off."""

    def __init__(
        self,
        anatomy: Anatomy,
        optimizer: Optimizer,
        config: ScoutConfig,
        mesh: Mesh,
        emit: Emit | None,
        journal_dir: Path | None,
        writer: EventWriter | None,
        management_host: str,
    ) -> None:
        self._rank = dist.get_rank()
        self._config = config
        self._optimizer = optimizer
        self._emit = emit
        self._writer = writer
        self._exchange = Exchange.open(mesh, self._rank, anatomy.device)
        group = self._exchange.group
        self._can_check = group.capability is not Capability.NONE
        self._times = PhaseTimes()
        self._checker = Checker(self._exchange, anatomy, optimizer, config, self._times)
        self._decider = CheckDecider(config=config)
        self._watch = Watch(
            self._rank, self._exchange, config, journal_dir, management_host
        )
        self._boundaries = Boundaries(anatomy, optimizer, self._watch)
        self._phases = Phases(self._boundaries, self._times)
        self._tape = recording_tape()
        if self._tape is not None and anatomy.device.type == "cpu":
            # On an accelerator a blocked thread waits for its own device, too.
            self._phases.loop_time = LoopTime(self._times)
            self._tape.waits = CollectiveTime(self._times, self._phases.loop_time)
        self._hooks: list[Any] = []
        self._step = 0  # completed optimizer steps
        self._is_closed = False
        self.handle = Handle(self._tier(anatomy), self._phases, self.close)

    def start(self) -> None:
        """Install the hooks and begin with the first step."""
        tier = self.handle.tier
        self._write(TierReported(tier=tier.name, sees=tier.sees, blind=tier.blind))
        logger.info("scout: tier %s; blind to: %s", tier.name, ", ".join(tier.blind))
        self._watch.start(self._write)
        self._boundaries.install()
        self._hooks = [
            self._optimizer.register_step_pre_hook(self._before_update),
            self._optimizer.register_step_post_hook(self._after_update),
        ]
        atexit.register(self.close)
        self._step_begins()

    def close(self) -> None:
        """Remove everything of ours from the job."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._stop_checks()
        self._phases.is_over = True
        if self._tape is not None:
            self._tape.waits = None
        self._boundaries.remove()
        for hook in self._hooks:
            hook.remove()
        self._watch.close()
        if self._writer is not None:
            self._writer.close()

    def _tier(self, anatomy: Anatomy) -> Tier:
        sees = ["module boundaries", "optimizer boundaries"]
        blind = [f"recipe {name}" for name in anatomy.blind()]
        is_full = self._config.observer and recording_tape() is not None
        if is_full:
            sees.append("every collective of the training groups")
        else:
            blind.append("collectives launched inside a boundary")
        capability = self._exchange.group.capability
        if capability is Capability.NONE:
            blind.append("everything numerical: this rank has no peer to compare with")
        elif capability is Capability.GROUP_SCOPED:
            blind.append("which of two peers is at fault")
        if self._can_check:
            sees.append(f"replay on {len(self._exchange.group.ranks)} peers")
        if self._config.observer:
            sees.append("progress, by an observer process")
        name = "full" if is_full else "boundaries"
        return Tier(name=name, sees=tuple(sees), blind=tuple(blind))

    def _step_begins(self) -> None:
        self._boundaries.step_begins(self._step + 1)
        if self._can_check:
            self._checker.step_begins(self._step + 1)

    def _before_update(self, *_: Any) -> None:
        if not self._can_check:
            return
        try:
            self._checker.before_update(self._step + 1)
        except Exception as error:  # a foreign optimizer may hold anything
            self._break(f"capturing the optimizer failed: {error}")

    def _after_update(self, *_: Any) -> None:
        self._step += 1
        if self._can_check and self._checker.is_due(self._step):
            self._check()
        self._watch.tend(self._step, self._write)
        self._step_begins()
        if self._phases.loop_time is not None and self._boundaries.watches_data:
            self._phases.loop_time.opens()

    def _check(self) -> None:
        token = self._watch.publish(self._step, "check", "replay")
        self._boundaries.is_paused = True
        try:
            checked = self._checker.run(self._step)
        except ExchangeFailed as error:
            self._disable(str(error))
            return
        except Exception as error:
            # Peers may already wait in the next exchange: closing ours frees them.
            logger.exception("scout: the check failed on this rank")
            self._exchange.close()
            self._disable(f"the check failed on this rank: {error}")
            return
        finally:
            self._boundaries.is_paused = False
            self._watch.leave(token)
        if self._phases.loop_time is not None:
            self._phases.loop_time.checked()
        if checked.is_broken:
            self._disable(checked.event.problem or "a peer's diagnosis failed")
            return
        self._decide(checked.event)

    def _decide(self, event: CheckCompleted) -> None:
        is_writer = self._rank == _writer_of(event)
        stamped = self._write(event) if is_writer else None
        ref = None
        if stamped is not None:
            ref = EvidenceRef(source=stamped.source, seq=stamped.seq)
        for decision in self._decider.on_check(
            event, at_ns=time.monotonic_ns(), ref=ref
        ):
            if isinstance(decision, IncidentClosed):
                if is_writer:
                    self._write(decision)
                continue
            self.handle._note(decision)
            if is_writer:
                logger.warning("scout: %s", decision.reason)
                self._write(VerdictIssued(verdict=decision))
        self._checker.rotation.advance(hold_layer=self._decider.holds_layer)

    def _break(self, reason: str) -> None:
        """This rank cannot go on: the next check tells the peers, and all stop."""
        if self._checker.trouble != BROKEN:
            self._checker.trouble = BROKEN
            logger.exception("scout: %s", reason)

    def _disable(self, reason: str) -> None:
        self._stop_checks()
        self.handle._note_disabled(reason)
        logger.error("scout: checks switched off at step %d: %s", self._step, reason)
        self._write(
            DetectorDisabled(component="scout.replay", reason=reason, step=self._step)
        )

    def _stop_checks(self) -> None:
        self._can_check = False
        self._checker.close()

    def _write(self, event: Event) -> Stamped | None:
        if self._emit is None:
            return None
        try:
            return self._emit(event)
        except OSError as error:  # a full disk must not stop training
            self._emit = None
            logger.error("scout: events are no longer written: %s", error)
            return None


def _writer_of(event: CheckCompleted) -> int:
    """The lowest peer that is present and no outlier writes for its group."""
    bitmaps = [surface.bitmap for surface in event.surfaces]
    bitmaps += [timing.bitmap for timing in event.timings]
    marked = {
        peer for bitmap in bitmaps for peer, mark in enumerate(bitmap) if mark != "0"
    }
    ranks = event.group_ranks
    present = [rank for rank in ranks if rank not in event.missing]
    clean = [rank for rank in present if ranks.index(rank) not in marked]
    return (clean or present or list(ranks))[0]
