"""Capture a sampled module's real invocation: inputs, gradients, RNG (SCOUT sec. 6, 9).

    forward pre-hook   arguments as a pytree, requires_grad mask, RNG, autocast
    forward hook       tensor hooks on the outputs, for the incoming gradients
    boundary           `take()` hands the captures over and removes every hook

Hooks stand only on sampled steps. Tensors are kept as detached views until the
optimizer boundary; an in-place change in between is seen by the version counter and
makes the capture unusable. Modules whose shapes change from step to step are cloned.
Never changes a value: tensor hooks return nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from scout import rng


@dataclass(slots=True)
class Invocation:
    """One captured call of one module; tensors are detached."""

    leaves: list[Any]  # flat (args, kwargs); tensors and the rest, in tree order
    spec: pytree.TreeSpec
    requires_grad: list[bool]  # per tensor leaf
    rng_states: list[torch.Tensor]
    autocast: tuple[bool, torch.dtype]
    gradients: list[torch.Tensor | None] = field(default_factory=list)
    output_mask: list[bool] = field(default_factory=list)  # outputs that have gradients
    versions: list[tuple[torch.Tensor, int]] = field(default_factory=list)
    buffers: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)

    @property
    def has_gradient(self) -> bool:
        """Whether a backward pass has come to one of its outputs."""
        return any(gradient is not None for gradient in self.gradients)

    @property
    def kept_buffers(self) -> list[torch.Tensor]:
        """Buffers of the module that its training calls leave as they are.

        The others, such as running statistics, follow each replica's own data: they
        may differ in health.
        """
        # By value: batch norm's kernel moves its statistics past the version counter.
        return [now for now, before in self.buffers if torch.equal(now, before)]

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensor leaves of the arguments."""
        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def problem(self) -> str | None:
        """Why this capture cannot be replayed, or None."""
        if not any(self.output_mask):
            return "no output needs a gradient"
        if any(
            wanted and gradient is None
            for wanted, gradient in zip(self.output_mask, self.gradients, strict=True)
        ):
            return "no gradient arrived at the output"
        if any(tensor._version != version for tensor, version in self.versions):
            return "a captured tensor was changed in place"
        return None

    def keep(self, tensor: torch.Tensor, clone: bool) -> torch.Tensor:
        """A detached view (or copy) of `tensor`, watched for in-place changes."""
        if clone:
            return tensor.detach().clone()
        view = tensor.detach()
        self.versions.append((view, view._version))
        return view


class Recorder:
    """Captures one training call of each wanted module in one step."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._handles: list[RemovableHandle] = []
        self._found: dict[str, Invocation] = {}
        self._shapes: dict[str, list[torch.Size]] = {}
        self._dynamic: set[str] = set()

    def arm(self, modules: Sequence[tuple[str, nn.Module]]) -> None:
        """Install hooks for the step that begins now."""
        self.disarm()
        for name, module in modules:
            self._handles += [
                module.register_forward_pre_hook(
                    lambda m, args, kwargs, name=name: self._on_call(
                        name, m, args, kwargs
                    ),
                    with_kwargs=True,
                ),
                module.register_forward_hook(
                    lambda m, args, output, name=name: self._on_output(name, output)
                ),
            ]

    def take(self) -> dict[str, Invocation]:
        """The captures of this step by module name; removes every hook."""
        found = self._found
        self.disarm()
        return found

    def disarm(self) -> None:
        """Remove every hook and forget what was captured."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._found = {}

    def _on_call(self, name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        # Evaluation runs without gradients. Of several calls with gradients the first
        # that trains counts: a loss may be thrown away, and activation checkpointing
        # calls again in the backward pass, when the first has its gradient.
        if not torch.is_grad_enabled():
            return
        before = self._found.get(name)
        if before is not None and before.has_gradient:
            return
        leaves, spec = pytree.tree_flatten((args, kwargs))
        shapes = [leaf.shape for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if self._shapes.setdefault(name, shapes) != shapes:
            self._dynamic.add(name)
            self._shapes[name] = shapes
        kind = self._device.type
        captured = Invocation(
            leaves=[],
            spec=spec,
            requires_grad=[
                leaf.requires_grad for leaf in leaves if isinstance(leaf, torch.Tensor)
            ],
            rng_states=rng.capture(self._device),
            autocast=(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)),
        )
        captured.buffers = [(b, b.detach().clone()) for b in module.buffers()]
        clone = name in self._dynamic
        captured.leaves = [
            captured.keep(leaf, clone) if isinstance(leaf, torch.Tensor) else leaf
            for leaf in leaves
        ]
        self._found[name] = captured

    def _on_output(self, name: str, output: Any) -> None:
        captured = self._found.get(name)
        if captured is None or captured.output_mask or not torch.is_grad_enabled():
            return
        clone = name in self._dynamic
        for leaf in pytree.tree_leaves(output):
            if not isinstance(leaf, torch.Tensor):
                continue
            index = len(captured.gradients)
            captured.gradients.append(None)
            captured.output_mask.append(leaf.requires_grad)
            if leaf.requires_grad:
                leaf.register_hook(  # type: ignore[no-untyped-call]
                    _keeper(captured, index, clone)
                )


def _keeper(captured: Invocation, index: int, clone: bool) -> Any:
    def on_gradient(gradient: torch.Tensor) -> None:
        captured.gradients[index] = captured.keep(gradient, clone)

    return on_gradient
