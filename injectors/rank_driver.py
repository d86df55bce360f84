"""Drives the faults of one rank at the right moments of each step.

    root forward pre-hook   step starts      what is undone goes back, on every rank
                                             beside_training faults are lifted
                                             step_start faults strike or heal
    optimizer pre-hook      update starts    update_end faults are lifted
                                             update_start faults strike or heal
    optimizer post-hook     update ended     update_end, beside_training faults strike
                                             before_fetch faults of the next step, too

Attached before SCOUT, so that SCOUT's hooks at the same boundary see the fault.
A fault that cannot strike becomes `FaultFailed`; training goes on.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from injectors.corruption import CorruptingParameters
from injectors.errors import CannotInject
from injectors.fault import Healing, RankContext, RankFault, RankParameters
from injectors.registry import FAULTS
from injectors.rewind import Rewind
from injectors.window import Window
from vocab.events import Change, Event, FaultFailed, FaultHealed, FaultInjected
from vocab.names import rank_name

if TYPE_CHECKING:
    import torch

Emit = Callable[[Event], object]


@dataclass(slots=True)
class _Driven:
    fault_id: str
    parameters: RankParameters
    fault: RankFault
    window: Window
    num_strikes: int = 0
    is_active: bool = False
    is_reported: bool = False  # FaultInjected written
    is_over: bool = False
    step: int = 0  # of the last `inject`


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undone:
    """A fault of any rank after which this rank goes back, too."""

    kind: str
    window: Window
    rewind: Rewind


class RankDriver:
    """The faults of one rank, from `attach` to `finish`."""

    def __init__(self, *, rank: int, seed: int, emit: Emit) -> None:
        self._rank = rank
        self._seed = seed
        self._sink = emit
        self._emitting = threading.Lock()  # a fault's own thread proves what blocks us
        self._step = 0  # completed optimizer steps
        self._faults: list[_Driven] = []
        self._undone: dict[str, _Undone] = {}  # by fault id
        self._started = 0

    def attach(
        self,
        faults: Sequence[tuple[str, RankParameters]],
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        layers: Sequence[tuple[str, torch.nn.Module]],
        before_fetch: list[Callable[[], None]] | None = None,
        is_in_container: bool = False,
    ) -> None:
        """Make this rank's faults (id, parameters) and hook the step's moments.

        `before_fetch`: the hooks that the job's data set calls before each batch; None:
        it has none. `is_in_container`: faults of the host are the engine's.
        """
        for fault_id, parameters in faults:
            if isinstance(parameters, CorruptingParameters) and parameters.undo:
                self._undone[fault_id] = _Undone(
                    kind=parameters.kind,
                    window=Window.of(parameters, self._seed, fault_id),
                    rewind=Rewind(model, optimizer),
                )
            if parameters.rank == self._rank:
                context = RankContext(
                    rank=self._rank,
                    seed=self._seed,
                    fault_id=fault_id,
                    model=model,
                    optimizer=optimizer,
                    layers=layers,
                    emit=self._emit,
                    before_fetch=before_fetch,
                    prove=functools.partial(self._prove, fault_id),
                    is_in_container=is_in_container,
                )
                self._add(parameters, context)
        if self._faults or self._undone:
            model.register_forward_pre_hook(self._on_step_start)
            optimizer.register_step_pre_hook(self._on_update_start)
            optimizer.register_step_post_hook(self._on_update_end)

    def finish(self) -> None:
        """Heal whatever is still active: the run is over."""
        for driven in self._faults:
            self._end(driven, self._step)

    def _add(self, parameters: RankParameters, context: RankContext) -> None:
        fault_id = context.fault_id
        try:
            fault = FAULTS[parameters.kind].make_rank_fault(parameters, context)
        except CannotInject as error:
            self._fail(fault_id, parameters.kind, error)
            return
        if fault is not None:
            window = Window.of(parameters, self._seed, fault_id)
            driven = _Driven(fault_id, parameters, fault, window)
            self._faults.append(driven)
            if fault.moment == "before_fetch":
                self._move(driven, 1)

    def _emit(self, event: Event) -> None:
        with self._emitting:
            self._sink(event)

    def _fail(self, fault_id: str, kind: str, error: CannotInject) -> None:
        self._emit(FaultFailed(fault_id=fault_id, kind=kind, reason=str(error)))

    def _on_step_start(self, *_: Any) -> None:
        import torch

        step = self._step + 1
        if self._started == step:  # a further micro-batch of the same step
            return
        if not torch.is_grad_enabled():  # an evaluation between two steps
            return
        self._started = step
        self._go_back(step)
        for driven in self._faults:
            if driven.fault.moment == "step_start":
                self._move(driven, step)
            elif driven.fault.moment == "beside_training":
                self._lift(driven)

    def _on_update_start(self, *_: Any) -> None:
        for driven in self._faults:
            if driven.fault.moment == "update_start":
                self._move(driven, self._step + 1)
            if driven.fault.moment == "update_end":
                self._lift(driven)

    def _on_update_end(self, *_: Any) -> None:
        self._step += 1
        for driven in self._faults:
            if driven.fault.moment in ("update_end", "beside_training"):
                self._move(driven, self._step)
            elif driven.fault.moment == "before_fetch":
                self._move(driven, self._step + 1)

    def _go_back(self, step: int) -> None:
        """Undo what is over, on every rank; keep the state where a window opens."""
        for driven in self._faults:
            if driven.fault_id in self._undone and driven.window.is_over(step):
                self._end(driven, step)
        for fault_id, undone in self._undone.items():
            if undone.window.is_over(step):
                self._undo(fault_id)
            elif step == undone.window.at_step:
                undone.rewind.keep()

    def _undo(self, fault_id: str) -> Change | None:
        undone = self._undone[fault_id]
        try:
            return undone.rewind.back()
        except CannotInject as error:
            self._fail(fault_id, undone.kind, error)
            return None

    def _lift(self, driven: _Driven) -> None:
        """What stands between two updates, or beside training, is over for now."""
        if not driven.is_active:
            return
        driven.is_active = False
        if driven.window.is_over(self._step + 1):
            self._end(driven, self._step)
        else:
            driven.fault.heal(self._step)

    def _move(self, driven: _Driven, step: int) -> None:
        if driven.is_over:
            return
        if driven.window.strikes(step):
            self._strike(driven, step)
        elif driven.window.is_over(step):
            self._end(driven, step)
        elif driven.is_active:  # an intermittent fault that rests in this step
            driven.is_active = False
            driven.fault.heal(step)

    def _strike(self, driven: _Driven, step: int) -> None:
        driven.step = step
        try:
            changes = driven.fault.inject(step)
        except CannotInject as error:
            self._fail(driven.fault_id, driven.parameters.kind, error)
            driven.is_over = True
            driven.fault.heal(step)
            return
        driven.is_active = True
        if changes:
            self._struck(driven, changes)

    def _prove(self, fault_id: str, changes: tuple[Change, ...]) -> None:
        """A fault that waited has struck."""
        for driven in self._faults:
            if driven.fault_id == fault_id:
                self._struck(driven, changes)

    def _struck(self, driven: _Driven, changes: tuple[Change, ...]) -> None:
        driven.num_strikes += 1
        if driven.is_reported:
            return
        driven.is_reported = True
        self._emit(
            FaultInjected(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                label=driven.fault.label,
                color=driven.fault.color,
                targets=(rank_name(driven.parameters.rank),),
                step=driven.step,
                changes=changes,
            )
        )

    def _end(self, driven: _Driven, step: int) -> None:
        if driven.is_over:
            return
        driven.is_over = True
        healing = driven.fault.heal(step)
        if driven.fault_id in self._undone:
            undone = self._undo(driven.fault_id)
            if undone is not None:
                healing = Healing(changes=(*healing.changes, undone))
        if not driven.is_reported:
            return
        self._emit(
            FaultHealed(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                targets=(rank_name(driven.parameters.rank),),
                step=step,
                changes=healing.changes,
                num_strikes=driven.num_strikes,
                residue=healing.residue,
            )
        )
