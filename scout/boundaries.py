"""Publish where a rank is, before it can block there (SCOUT sec. 7).

    data ─► forward of each layer ─► backward of each layer ─► reduce ─► optimizer
      ▲                                                                     │
      └────────────────────── check (SCOUT's own) ◄─────────────────────────┘

`reduce` is published when this rank's backward work is done and it waits for gradients,
so that a rank frozen inside the backward pass is behind its peers. Hooks hand values on
untouched; called by `enable`, which gives `publish` the progress ring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from scout.discover import Anatomy

Publish = Callable[[int, str, str], None]  # (step, phase, name)


class Boundaries:
    """The hooks that publish one rank's progress; steps count from 1."""

    def __init__(self, anatomy: Anatomy, optimizer: Optimizer, publish: Publish):
        self._anatomy = anatomy
        self._optimizer = optimizer
        self._publish = publish
        self._handles: list[RemovableHandle] = []
        self._reduced_step = 0
        self.step = 1  # the step that is being computed
        self.is_paused = False  # during SCOUT's own replay

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
        """The next step fetches its batch."""
        self.step = step
        self._publish(step, "data", "next batch")

    def _forward_hook(self, name: str) -> Callable[..., None]:
        def on_forward(module: torch.nn.Module, args: Any) -> None:
            if not self.is_paused:
                is_training = torch.is_grad_enabled()
                phase = "forward" if is_training else "evaluation"
                self._publish(self.step, phase, name)

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
        self._publish(self.step, "backward", name)
        if self._reduced_step != self.step:
            self._reduced_step = self.step
            # Queued before DDP queues its own wait: runs when all backward work of this
            # rank is done, and before it waits for the peers' gradients.
            engine: Any = torch.autograd.Variable._execution_engine
            engine.queue_callback(self._on_reduce)

    def _on_reduce(self) -> None:
        self._publish(self.step, "reduce", "gradients")

    def _on_optimizer(self, *_: Any) -> None:
        self._publish(self.step, "optimizer", "update")
