"""Publish where a rank is, before it can block there (SCOUT sec. 7).

    data ─► forward of each layer ─► backward of each layer ─► reduce ─► optimizer
      ▲                                                                     │
      └─ evaluation, checkpoint (lanes: not every rank) ◄─ check (SCOUT's) ◄┘

`reduce` is published when this rank's backward work is done and it waits for gradients,
so that a rank frozen inside the backward pass is behind its peers. Hooks hand values on
untouched; called by `enable`, which gives the progress ring, and by `phases`, for loops
that show their batches: then a step begins at its fetch, else when the update is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.optim import Optimizer
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from scout.discover import Anatomy


class Progress(Protocol):
    """Where boundaries are published: the progress ring, through `scout.watch`."""

    def publish(self, step: int, phase: str, name: str) -> int | None:
        """Say where this rank is; returns the token for `leave`."""

    def leave(self, token: int | None) -> None:
        """Say that it is over; None does nothing."""

    def move(self, step: int, phase: str) -> None:
        """Collectives from now on belong to this phase."""


class Boundaries:
    """The hooks that publish one rank's progress; steps count from 1."""

    def __init__(
        self, anatomy: Anatomy, optimizer: Optimizer, progress: Progress
    ) -> None:
        self._anatomy = anatomy
        self._optimizer = optimizer
        self._progress = progress
        self._handles: list[RemovableHandle] = []
        self._reduced_step = 0
        self._next_step = 1
        self._update: int | None = None  # token of the newest optimizer boundary
        self._lane = ""
        self._phase = "startup"  # outside of lanes
        self.step = 1  # the step that is being computed
        self.is_paused = False  # during SCOUT's own replay
        self.watches_data = False  # fetches are boundaries of their own

    @property
    def is_in_lane(self) -> bool:
        """Inside an evaluation or a checkpoint that the loop has shown."""
        return bool(self._lane)

    def install(self) -> None:
        """Hook the model and the optimizer."""
        named = [*self._anatomy.layers]
        for extra in (self._anatomy.embedding, self._anatomy.lm_head):
            if extra is not None:
                named.append(extra)
        for name, module in named:
            self._handles += [
                module.register_forward_pre_hook(self._forward_hook(name)),
                module.register_forward_hook(self._output_hook(name)),
            ]
        self._handles.append(self._optimizer.register_step_pre_hook(self._on_optimizer))

    def remove(self) -> None:
        """Take every hook off."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def step_begins(self, step: int) -> None:
        """The update before `step` is over.

        What the loop does between its update and its next fetch belongs to the step
        that ends, but only a loop that shows its fetches says when that is.
        """
        self._next_step = step
        self._progress.leave(self._update)
        self._update = None
        if not self.watches_data:
            self._advance()
            self._publish("data", "next batch")

    def fetch_begins(self, name: str) -> int | None:
        """A batch is fetched."""
        if not self._lane:
            self._advance()
        return self._publish("data", name)

    def fetch_ends(self, token: int | None) -> None:
        """The batch is there."""
        self._progress.leave(token)

    def lane_begins(self, phase: str) -> int | None:
        """This rank, and perhaps no other, begins an evaluation or a checkpoint."""
        self._lane = phase
        return self._publish(phase, "begin")

    def lane_ends(self, token: int | None) -> None:
        """It is over: a barrier behind it is not part of it."""
        self._progress.leave(token)
        self._lane = ""
        self._progress.move(self.step, self._phase)

    def _advance(self) -> None:
        self.step = self._next_step

    def _publish(self, phase: str, name: str) -> int | None:
        if self._lane:
            phase = self._lane
        elif phase != "evaluation":
            self._phase = phase
        return self._progress.publish(self.step, phase, name)

    def _forward_hook(self, name: str) -> Callable[..., None]:
        def on_forward(module: torch.nn.Module, args: Any) -> None:
            if not self.is_paused:
                is_training = torch.is_grad_enabled()
                if is_training and not self._lane:
                    self._advance()
                self._publish("forward" if is_training else "evaluation", name)

        return on_forward

    def _output_hook(self, name: str) -> Callable[..., None]:
        def on_output(module: torch.nn.Module, args: Any, output: Any) -> None:
            if self.is_paused or not torch.is_grad_enabled():
                return
            for leaf in pytree.tree_leaves(output):
                if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                    leaf.register_hook(  # type: ignore[no-untyped-call]
                        lambda _: self._on_backward(name)
                    )
                    return

        return on_output

    def _on_backward(self, name: str) -> None:
        if self.is_paused:
            return
        self._publish("backward", name)
        if self._reduced_step != self.step:
            self._reduced_step = self.step
            # Queued before DDP queues its own wait: runs when all backward work of this
            # rank is done, and before it waits for the peers' gradients.
            engine: Any = torch.autograd.Variable._execution_engine
            engine.queue_callback(self._on_reduce)

    def _on_reduce(self) -> None:
        self._publish("reduce", "gradients")

    def _on_optimizer(self, *_: Any) -> None:
        self._update = self._publish("optimizer", "update")
