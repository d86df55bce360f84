"""Drives faults from outside the ranks: begun by a rank's trigger, ended by the clock.

The harness hands over `FaultTriggered` events and ended steps as it reads them, and
calls `tick`. A fault that lasts `inf` seconds ends with the last step of its window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from injectors.errors import CannotInject
from injectors.fault import HostContext, HostFault, RankParameters
from injectors.registry import FAULTS
from vocab.events import (
    Event,
    FaultFailed,
    FaultHealed,
    FaultInjected,
    FaultTriggered,
)
from vocab.names import rank_name


@dataclass(slots=True)
class _Driven:
    fault_id: str
    parameters: RankParameters
    fault: HostFault
    step: int | None = None
    heal_at_s: float | None = None  # set while the fault is active


class HostDriver:
    """The faults of one run that act from the harness."""

    def __init__(
        self,
        faults: Sequence[tuple[str, RankParameters]],
        context: HostContext,
        emit: Callable[[Event], object],
    ) -> None:
        self._emit = emit
        self._faults: dict[str, _Driven] = {}
        for fault_id, parameters in faults:
            fault = FAULTS[parameters.kind].make_host_fault(parameters, context)
            if fault is not None:
                self._faults[fault_id] = _Driven(fault_id, parameters, fault)

    def on_triggered(self, event: FaultTriggered, now_s: float) -> None:
        """A rank reached the place where its fault strikes: prove the strike."""
        driven = self._faults.get(event.fault_id)
        if driven is None or driven.heal_at_s is not None:
            return
        try:
            changes = driven.fault.inject()
        except CannotInject as error:
            driven.fault.heal()  # it may still come true, too late for the proof
            self._emit(FaultFailed(fault_id=driven.fault_id,
                                   kind=driven.parameters.kind,
                                   reason=str(error)))  # fmt: skip
            return
        driven.step = event.step
        driven.heal_at_s = now_s + driven.fault.duration_s
        self._emit(
            FaultInjected(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                label=driven.fault.label,
                color=driven.fault.color,
                targets=driven.parameters.targets,
                step=event.step,
                changes=changes,
            )
        )

    def on_step(self, rank: str, step: int) -> None:
        """A rank ended a step: heal what lasts no longer than that."""
        for driven in self._faults.values():
            last = driven.parameters.until_step
            if (
                driven.heal_at_s is not None
                and math.isinf(driven.heal_at_s)
                and rank == rank_name(driven.parameters.rank)
                and last is not None
                and step >= last
            ):
                self._heal(driven)

    def tick(self, now_s: float) -> None:
        """Heal what has lasted long enough."""
        for driven in self._faults.values():
            if driven.heal_at_s is not None and now_s >= driven.heal_at_s:
                self._heal(driven)

    def finish(self) -> None:
        """Heal whatever is active: the run ends."""
        for driven in self._faults.values():
            if driven.heal_at_s is not None:
                self._heal(driven)

    def _heal(self, driven: _Driven) -> None:
        driven.heal_at_s = None
        healing = driven.fault.heal()
        self._emit(
            FaultHealed(
                fault_id=driven.fault_id,
                kind=driven.parameters.kind,
                targets=driven.parameters.targets,
                step=driven.step,
                changes=healing.changes,
                num_strikes=1,
                residue=healing.residue,
            )
        )
