"""Find the model and the optimizer of a training script that names neither to us.

    forward of a DistributedDataParallel, in training ─► its model
        one optimizer holds its parameters ─► found, before the first step
        none yet, or several               ─► the first of them to step decides

By PyTorch's public global hooks and the garbage collector's list of objects: nothing is
patched, and a script that wraps or subclasses either is found alike. Used by `script`;
knows nothing of SCOUT or of faults. After `found` its hooks are gone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle

Found = Callable[[DistributedDataParallel, Optimizer], None]


class JobFinder:
    """Calls `found` once, in the training thread; every rank finds at the same call."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._model: DistributedDataParallel | None = None
        self._hooks: list[RemovableHandle] = []
        self.is_done = False

    @property
    def model(self) -> DistributedDataParallel | None:
        """The model that trains; None while no forward pass of one was seen."""
        return self._model

    def watch(self) -> None:
        """Begin to look."""
        self._hooks = [
            register_module_forward_pre_hook(self._on_forward),
            register_optimizer_step_post_hook(self._on_step),
        ]

    def stop(self) -> None:
        """Look no more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _on_forward(self, module: torch.nn.Module, _: Any) -> None:
        if self._model is not None or not isinstance(module, DistributedDataParallel):
            return
        if not (module.training and torch.is_grad_enabled()):
            return
        self._model = module
        holders = [one for one in _optimizers() if _holds(one, module)]
        if len(holders) == 1:
            self._finish(module, holders[0])

    def _on_step(self, optimizer: Optimizer, *_: Any) -> None:
        """Later than one would like: the step that ends now goes unwatched."""
        if self.is_done or self._model is None or not _holds(optimizer, self._model):
            return
        self._finish(self._model, optimizer)

    def _finish(self, model: DistributedDataParallel, optimizer: Optimizer) -> None:
        self.is_done = True
        self._hooks[0].remove()  # it costs a call for each module; the other does not
        self._found(model, optimizer)


def _optimizers() -> list[Optimizer]:
    # By type, not by isinstance: proxies among all objects would run code of their own.
    return [item for item in gc.get_objects() if issubclass(type(item), Optimizer)]


def _holds(optimizer: Optimizer, model: torch.nn.Module) -> bool:
    wanted = {id(parameter) for parameter in model.parameters()}
    return any(
        id(parameter) in wanted
        for group in optimizer.param_groups
        for parameter in group["params"]
    )
