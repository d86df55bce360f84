"""Find what to replay in a model: embedding, repeated layers, output layer (sec. 6.1).

Called once by `enable`. Names in the config win over discovery; what is not found is
reported as blind, never guessed. A model without repeated layers, such as a small
convolutional one, is taken apart into the pieces that it calls one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from scout.config import ScoutConfig
from scout.errors import SetupError

_CALLED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.LayerNorm, nn.BatchNorm1d,
           nn.BatchNorm2d, nn.BatchNorm3d, nn.GroupNorm)  # fmt: skip
"""Classes whose modules are called; not their subclasses, which may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """Named modules of one model; names are those of the unwrapped model."""

    model: nn.Module
    embedding: tuple[str, nn.Module] | None
    layers: tuple[tuple[str, nn.Module], ...]
    lm_head: tuple[str, nn.Module] | None
    device: torch.device

    def blind(self) -> tuple[str, ...]:
        """Recipes that this model gives no module for."""
        found = {
            "embedding": self.embedding is not None,
            "hidden": bool(self.layers),
            "lm_head": self.lm_head is not None,
        }
        return tuple(name for name, there in found.items() if not there)


def examine(model: nn.Module, config: ScoutConfig) -> Anatomy:
    """Find the recipes' modules in a model, wrapped in DDP or not.

    Raises:
        SetupError: a module named in the config does not exist, or no parameters.
    """
    inner = unwrap(model)
    first = next(inner.parameters(), None)
    if first is None:
        raise SetupError(f"model {type(inner).__name__} has no parameters to compare")
    layers = _layers(inner, config)
    embedding = _embedding(inner, config)
    return Anatomy(
        model=inner,
        embedding=embedding,
        layers=layers,
        lm_head=_lm_head(inner, config, embedding, layers),
        device=first.device,
    )


def unwrap(model: nn.Module) -> nn.Module:
    """The user's own module inside DistributedDataParallel."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        inner: nn.Module = model.module
        return inner
    return model


def _named(model: nn.Module, name: str, setting: str) -> nn.Module:
    try:
        return model.get_submodule(name)
    except AttributeError:
        some = ", ".join(n for n, _ in model.named_modules() if n)[:200]
        raise SetupError(f"{setting} is {name!r}; allowed: one of {some}") from None


def _layers(model: nn.Module, config: ScoutConfig) -> tuple[tuple[str, nn.Module], ...]:
    if config.layers is not None:
        found = _named(model, config.layers, "layers")
        return tuple((f"{config.layers}.{n}", m) for n, m in found.named_children())
    best: tuple[tuple[str, nn.Module], ...] = ()
    for name, module in model.named_modules():
        if not isinstance(module, (nn.ModuleList, nn.ModuleDict)):
            continue
        children = tuple(
            (f"{name}.{child}" if name else child, layer)
            for child, layer in module.named_children()
        )
        kinds = {type(layer) for _, layer in children}
        is_stack = len(kinds) == 1 and not kinds & {nn.ModuleList, nn.ModuleDict}
        if is_stack and len(children) > len(best):
            best = children
    return best or tuple(_pieces(model, ""))


def _pieces(module: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    """Modules with trained weights that are called as such, in their order.

    Containers are gone into. What is left is only taken where its own class says how it
    is called: a module that others read the weights of is never called itself.
    """
    for child, inner in module.named_children():
        name = f"{prefix}.{child}" if prefix else child
        if isinstance(inner, (nn.Sequential, nn.ModuleList, nn.ModuleDict)):
            yield from _pieces(inner, name)
        elif type(inner) in _CALLED and any(
            parameter.requires_grad for parameter in inner.parameters()
        ):
            yield name, inner
        elif type(inner) not in _CALLED:
            yield from _pieces(inner, name)


def _embedding(model: nn.Module, config: ScoutConfig) -> tuple[str, nn.Module] | None:
    if config.embedding is not None:
        return config.embedding, _named(model, config.embedding, "embedding")
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            return name, module
    return None


def _lm_head(
    model: nn.Module,
    config: ScoutConfig,
    embedding: tuple[str, nn.Module] | None,
    layers: tuple[tuple[str, nn.Module], ...],
) -> tuple[str, nn.Module] | None:
    if config.lm_head is not None:
        return config.lm_head, _named(model, config.lm_head, "lm_head")
    if embedding is None:
        return None
    width = getattr(embedding[1], "num_embeddings", None)
    inside = tuple(f"{name}." for name, _ in layers)
    found = None
    for name, module in model.named_modules():
        is_output = isinstance(module, nn.Linear) and module.out_features == width
        if is_output and not name.startswith(inside):
            found = (name, module)
    return found
