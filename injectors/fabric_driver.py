"""Drives the faults of the fabric: what strikes in a step, and its proof afterwards.

    effects(step) ─► the fabric carries the step's packets ─► on_played(trace)
                                       FaultInjected, FaultHealed ◄─┘

Called by whatever plays or carries the job's packets, once a step. It touches no
packet itself. A fault that did nothing (chance spared every packet) has not struck yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from injectors.fabric_effect import Effect, FabricTrace
from injectors.fault import FabricFault, FabricParameters
from injectors.registry import FAULTS
from injectors.window import Window
from vocab.events import Change, Event, FaultHealed, FaultInjected


@dataclass(slots=True)
class _Driven:
    fault_id: str
    parameters: FabricParameters
    fault: FabricFault
    window: Window
    num_strikes: int = 0
    is_struck: bool = False  # in the step under way
    struck_step: int | None = None  # the first that proved it
    is_healed: bool = False
    healthy: FabricTrace | None = None  # the last step without it


class FabricDriver:
    """The faults of one fabric (id, parameters), over all steps."""

    def __init__(
        self,
        faults: Sequence[tuple[str, FabricParameters]],
        *,
        seed: int,
        emit: Callable[[Event], object],
    ) -> None:
        self._emit = emit
        self._faults: list[_Driven] = []
        for fault_id, parameters in faults:
            make = FAULTS[parameters.kind].make_fabric_fault
            assert make is not None, f"{parameters.kind} is no fault of a fabric"
            self._faults.append(
                _Driven(
                    fault_id,
                    parameters,
                    make(parameters),
                    Window.of(parameters, seed, fault_id),
                )
            )

    def effects(self, step: int) -> tuple[Effect, ...]:
        """What is wrong with the fabric in this step."""
        found: list[Effect] = []
        for driven in self._faults:
            effect = None
            if driven.window.strikes(step):
                effect = driven.fault.effect(step)
            driven.is_struck = effect is not None
            if effect is not None:
                found.append(effect)
        return tuple(found)

    def on_played(self, trace: FabricTrace) -> None:
        """The step is over: tell what it proves."""
        for driven in self._faults:
            if driven.is_struck:
                self._prove(driven, trace)
            elif driven.window.is_over(trace.step):
                self._heal(driven, trace.step, "seen healthy again in step "
                           f"{trace.step}")  # fmt: skip
            else:
                driven.healthy = trace

    def finish(self, step: int) -> None:
        """The run is over, and so is every fault."""
        for driven in self._faults:
            self._heal(driven, step, "the run is over")

    def _prove(self, driven: _Driven, trace: FabricTrace) -> None:
        changes = driven.fault.prove(driven.healthy, trace)
        if not changes:
            return
        driven.num_strikes += 1
        if driven.struck_step is not None:
            return
        driven.struck_step = trace.step
        self._emit(
            FaultInjected(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                label=driven.fault.label,
                color=driven.fault.color,
                targets=driven.parameters.targets,
                step=trace.step,
                changes=changes,
            )
        )

    def _heal(self, driven: _Driven, step: int, why: str) -> None:
        if driven.struck_step is None or driven.is_healed:
            return
        driven.is_healed = True
        target = ", ".join(driven.parameters.targets)
        self._emit(
            FaultHealed(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                targets=driven.parameters.targets,
                step=step,
                changes=(Change(what=target, before="faulty", after=why),),
                num_strikes=driven.num_strikes,
            )
        )
