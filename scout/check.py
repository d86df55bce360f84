"""One check at an optimizer boundary, from captures to evidence (SCOUT sec. 6, 9).

    1 capture      what the hooks kept, and the optimizer's slice before the update
    2 header       are all peers at this check, with usable and equal structures?
    3 source       one peer's values are broadcast (it rotates); compared as received
    4 replay       every module of the plan, every variant; the optimizer's re-run
    5 evidence     one exchange of all signatures and timings
    6 decide       the same pure decider on every peer

A peer without a usable capture takes part in 2 and the check is incomplete: it never
deadlocks and never becomes an SDC. Errors of this rank's own replay are sent as missing
evidence in 5. Only `ExchangeFailed` leaves here; `enable` switches the diagnosis off.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.optim import Optimizer

from scout import optimizer_evidence, replay
from scout import optimizer_slice as slices
from scout.c3 import Exchange
from scout.clock import Timing
from scout.config import ScoutConfig
from scout.decide import evaluated
from scout.discover import Anatomy
from scout.evidence import (
    CHANGED,
    NO_CAPTURE,
    NO_GRADIENT,
    Agreement,
    Header,
    Surface,
    agree,
    assembled,
    digest,
    evidence_words,
    shared_by_most,
)
from scout.phase_times import PHASE_SURFACES, PhaseTimes
from scout.recipes import Plan, Rotation
from scout.recorder import Invocation, Recorder
from vocab.events import CheckCompleted

logger = logging.getLogger("scout")


@dataclass(slots=True)
class _Local:
    """What this rank brings to a check."""

    plan: Plan
    captures: dict[str, Invocation]
    pieces: list[slices.Piece]
    trouble: int

    def tensors(self) -> list[torch.Tensor]:
        """Everything that the source broadcasts, in plan order."""
        found: list[torch.Tensor] = []
        for _, name, _ in self.plan.modules:
            found += replay.source_of(self.captures[name]).tensors()
        for piece in self.pieces:
            found += piece.tensors()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A finished check; equal on every peer except for its duration."""

    event: CheckCompleted
    is_broken: bool


class Checker:
    """Runs the checks of one rank; `step_begins`, `before_update`, `run` in order."""

    def __init__(
        self,
        exchange: Exchange,
        anatomy: Anatomy,
        optimizer: Optimizer,
        config: ScoutConfig,
        times: PhaseTimes,
    ) -> None:
        self._exchange = exchange
        self._times = times
        self._anatomy = anatomy
        self._optimizer = optimizer
        self._config = config
        self._names = {
            id(parameter): name for name, parameter in anatomy.model.named_parameters()
        }
        order = slices.parameter_order(optimizer, self._names)
        self.rotation = Rotation(
            anatomy,
            config,
            len(exchange.group.ranks),
            sum(p.numel() for *_, p in order),
        )
        self._recorder = Recorder(anatomy.device)
        self._pieces: list[slices.Piece] = []
        self.trouble = 0  # set to BROKEN to take part without evidence

    def is_due(self, step: int) -> bool:
        """Whether the boundary after `step` (from 1) is a sampled one."""
        return step % self._config.replay_every == 0

    def step_begins(self, step: int) -> None:
        """Install capture hooks if the step that begins is sampled."""
        if self.is_due(step):
            plan = self.rotation.next()
            self._recorder.arm([(name, module) for _, name, module in plan.modules])

    def before_update(self, step: int) -> None:
        """Clone the optimizer's slice if this boundary is sampled."""
        start = self.rotation.next().slice_start
        if self.is_due(step) and start is not None:
            self._pieces = slices.capture(
                self._optimizer, self._names, start, self._config.slice_elements
            )

    def run(self, step: int) -> Checked:
        """The check at the boundary after `step`.

        Raises:
            ExchangeFailed: a peer is gone.
        """
        began = time.perf_counter()
        local = self._collect()
        headers = [
            Header.of(words)
            for words in self._exchange.gather_words(self._header(step, local).words())
        ]
        agreement = agree(headers, self._exchange.group.ranks)
        if agreement.problem is not None:
            event = self._incomplete(step, local, agreement)
        else:
            event = self._replayed(step, local, agreement)
        event = replace(event, duration_s=time.perf_counter() - began)
        return Checked(
            event=evaluated(event, self._config), is_broken=agreement.is_broken
        )

    def close(self) -> None:
        """Remove every hook."""
        self._recorder.disarm()

    def _collect(self) -> _Local:
        plan = self.rotation.next()
        captures, pieces = self._recorder.take(), self._pieces
        self._pieces = []
        trouble = self.trouble
        for _, name, _ in plan.modules:
            problem = captures[name].problem() if name in captures else None
            if name not in captures:
                trouble = trouble or NO_CAPTURE
            elif problem is not None:
                trouble = trouble or (CHANGED if "place" in problem else NO_GRADIENT)
        return _Local(plan=plan, captures=captures, pieces=pieces, trouble=trouble)

    def _header(self, step: int, local: _Local) -> Header:
        structure: list[Any] = []
        shapes: list[Any] = []
        constants: list[Any] = []
        for _, name, _ in local.plan.modules:
            captured = local.captures.get(name)
            if captured is None:
                continue
            tensors = replay.source_of(captured).tensors()
            structure.append((name, str(captured.spec), captured.requires_grad,
                              captured.output_mask, captured.autocast,
                              [(t.dtype, t.ndim) for t in tensors]))  # fmt: skip
            shapes.append([tuple(t.shape) for t in tensors])
            constants.append([_constant(leaf) for leaf in captured.leaves])
        structure += [optimizer_evidence.structure(p) for p in local.pieces]
        plan = local.plan
        return Header(
            check=plan.check,
            step=step,
            plan=digest(plan.recipes, plan.layer, plan.slice_start, plan.source_peer),
            structure=digest(structure),
            shapes=digest(shapes),
            constants=digest(constants),
            trouble=local.trouble,
        )

    def _replayed(
        self, step: int, local: _Local, agreement: Agreement
    ) -> CheckCompleted:
        tensors = self._like_source(local, agreement)
        *received, checksum = self._exchange.broadcast(
            [*tensors, replay.checksum(tensors)], local.plan.source_peer
        )
        is_intact = bool(torch.equal(checksum, replay.checksum(received)))
        surfaces, timings = self._surfaces(local)
        timings += PHASE_SURFACES
        values: dict[str, int] | None
        times: dict[str, Timing] | None
        try:
            values, times = self._evidence(local, received, is_intact)
        except Exception:  # the user's module may raise anything; peers must not wait
            logger.exception("scout: replay failed on this rank")
            values, times = None, None
        spent = self._times.take()
        if times is not None:
            times |= spent
        rows = self._exchange.gather_words(
            evidence_words(surfaces, timings, values, times)
        )
        found, timed, missing = assembled(surfaces, timings, rows)
        event = self._event(step, local, missing=missing)
        problem = "its replay failed" if missing else None
        return replace(
            event, surfaces=found, timings=shared_by_most(timed), problem=problem
        )

    def _evidence(
        self, local: _Local, received: list[torch.Tensor], is_intact: bool
    ) -> tuple[dict[str, int], dict[str, Timing]]:
        values: dict[str, int] = {}
        times: dict[str, Timing] = {}
        at = 0
        for recipe, name, module in local.plan.modules:
            captured = local.captures[name]
            own = replay.source_of(captured)
            count = len(own.tensors())
            source = replay.received(own, received[at : at + count])
            at += count
            values[f"{recipe}.broadcast"] = replay.combined(source.tensors())
            if not is_intact:  # a damaged random state could crash its generator
                source = replace(source, rng_states=own.rng_states)
            done = replay.replay(
                recipe, module, captured, source, self._config.variants,
                self._anatomy.device,
            )  # fmt: skip
            values |= done.signatures
            times |= done.timings
        if local.pieces:
            values |= optimizer_evidence.values_of(
                self._optimizer, local.pieces, received[at:]
            )
        return values, times

    def _surfaces(self, local: _Local) -> tuple[list[Surface], list[Surface]]:
        surfaces, timings = [], []
        for recipe, name, _ in local.plan.modules:
            values, times = replay.surfaces(
                recipe, local.captures[name], self._config.variants
            )
            for value in (f"{recipe}.broadcast", *values):
                surfaces.append(Surface(name=value, recipe=recipe, layer=name))
            for timing in times:
                timings.append(Surface(name=timing, recipe=recipe, layer=name))
        if local.pieces:
            surfaces += optimizer_evidence.surfaces(local.pieces)
        return surfaces, timings

    def _like_source(self, local: _Local, agreement: Agreement) -> list[torch.Tensor]:
        tensors = local.tensors()
        if agreement.same_shapes:
            return tensors
        shapes = self._exchange.gather_object([tuple(t.shape) for t in tensors])
        wanted = shapes[local.plan.source_peer]
        if self._exchange.peer == local.plan.source_peer:
            return tensors
        return [
            tensor if tuple(tensor.shape) == shape else tensor.new_empty(shape)
            for tensor, shape in zip(tensors, wanted, strict=True)
        ]

    def _incomplete(
        self, step: int, local: _Local, agreement: Agreement
    ) -> CheckCompleted:
        event = self._event(step, local, missing=agreement.missing)
        return replace(event, problem=agreement.problem)

    def _event(
        self, step: int, local: _Local, *, missing: tuple[int, ...]
    ) -> CheckCompleted:
        group, plan = self._exchange.group, local.plan
        captured = next(
            (c for recipe, name, _ in plan.modules if recipe == "hidden"
             and (c := local.captures.get(name)) is not None), None,
        )  # fmt: skip
        shape = tuple(captured.tensors[0].shape) if captured else None
        return CheckCompleted(
            check=plan.check,
            step=step,
            group=group.role,
            group_ranks=group.ranks,
            recipes=plan.recipes,
            layer=plan.layer,
            source_rank=group.ranks[plan.source_peer],
            missing=tuple(group.ranks[peer] for peer in missing),
            surfaces=(),
            timings=(),
            variants=self._config.variants,
            replay_mode="ddp",
            replay_shape=shape,
            duration_s=0.0,
            sliced=tuple(piece.name for piece in local.pieces),
        )


def _constant(leaf: Any) -> Any:
    """What of a non-tensor argument must be equal on every peer."""
    if isinstance(leaf, torch.Tensor):
        return "tensor"
    plain = (bool, int, float, str, bytes, torch.dtype, torch.Size, type(None))
    return repr(leaf) if isinstance(leaf, plain) else type(leaf).__qualname__
