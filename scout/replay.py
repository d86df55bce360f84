"""Run a captured module call again, beside training (SCOUT Alg. 2, sec. 6.1).

    for each variant of the inputs:   install the source's RNG
        forward (timed)  ->  backward from the gradients (timed)  ->  signatures

Copies of the inputs, the live module and parameters; no live gradient, buffer, RNG
stream or state is changed. The module's own hooks run: a fault that acts through the
module acts here too. Called by `check`; exchanges nothing itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from scout import rng
from scout.clock import Timing, timed
from scout.recorder import Invocation
from scout.seeded_backward import seeded_backward
from scout.signature import signature, signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the source peer broadcast for one module: equal on every healthy peer."""

    inputs: list[torch.Tensor]
    gradients: list[torch.Tensor]  # for the outputs of the mask only
    rng_states: list[torch.Tensor]

    def tensors(self) -> list[torch.Tensor]:
        """All of it, in the order of the broadcast."""
        return [*self.inputs, *self.gradients, *self.rng_states]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One module's local evidence: signatures and timings by surface name."""

    signatures: dict[str, int]
    timings: dict[str, Timing]


def source_of(captured: Invocation) -> Source:
    """This peer's own capture in the form of a source."""
    return Source(
        inputs=captured.tensors,
        gradients=[g for g in captured.gradients if g is not None],
        rng_states=captured.rng_states,
    )


def received(like: Source, tensors: Sequence[torch.Tensor]) -> Source:
    """The broadcast tensors in the form of `like`."""
    first, second = len(like.inputs), len(like.inputs) + len(like.gradients)
    return Source(
        inputs=list(tensors[:first]),
        gradients=list(tensors[first:second]),
        rng_states=list(tensors[second:]),
    )


def replay(
    recipe: str,
    module: nn.Module,
    captured: Invocation,
    source: Source,
    variants: Sequence[float],
    device: torch.device,
) -> Replayed:
    """Replay one module on the source's values; see `surfaces` for the names."""
    found: dict[str, int] = {}
    forward: list[Timing] = []
    backward: list[Timing] = []
    state = [*module.parameters(), *captured.kept_buffers]
    with _beside_training(module, device), _autocast(captured, device):
        parameters = [p for p in module.parameters() if p.requires_grad]
        found[f"{recipe}.parameters"] = combined(state)
        for factor in _useful(variants, source):
            rng.install(source.rng_states, device)
            inputs, leaves = _scaled_copies(captured, source, factor)
            args, kwargs = pytree.tree_unflatten(leaves, captured.spec)
            output, time_f = timed(partial(module, *args, **kwargs), device)
            outputs = _outputs(output, captured)
            wanted = [*inputs, *parameters]
            backward_pass = partial(seeded_backward, outputs, wanted, source.gradients)
            grads, time_b = timed(backward_pass, device)
            forward.append(time_f)
            backward.append(time_b)
            tag = f"[x{factor:g}]"
            found[f"{recipe}.output{tag}"] = combined(
                [t for t in pytree.tree_leaves(output) if torch.is_tensor(t)]
            )
            found[f"{recipe}.input_grad{tag}"] = combined(grads[: len(inputs)])
            found[f"{recipe}.param_grad{tag}"] = combined(grads[len(inputs) :])
    timings = {
        f"{recipe}.forward": min(forward, key=lambda t: t.charged_s),
        f"{recipe}.backward": min(backward, key=lambda t: t.charged_s),
    }
    return Replayed(signatures=found, timings=timings)


def surfaces(
    recipe: str, captured: Invocation, variants: Sequence[float]
) -> tuple[list[str], list[str]]:
    """(signature surfaces, timing surfaces) that `replay` will give, in order."""
    names = [f"{recipe}.parameters"]
    for factor in _useful(variants, source_of(captured)):
        names += [
            f"{recipe}.{what}[x{factor:g}]"
            for what in ("output", "input_grad", "param_grad")
        ]
    return names, [f"{recipe}.forward", f"{recipe}.backward"]


def combined(tensors: Sequence[torch.Tensor | None]) -> int:
    """One signature over several tensors in order; an absent one counts as such."""
    present = [t for t in tensors if t is not None]
    words = iter(signatures(present))
    row = [next(words) if t is not None else 0 for t in tensors]
    signed = [word - (1 << 64) if word >> 63 else word for word in row]
    return signature(torch.tensor([len(row), *signed], dtype=torch.int64))


def checksum(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """`combined` as a tensor, to travel with the tensors that it covers."""
    word = combined(tensors)
    signed = word - (1 << 64) if word >> 63 else word
    return torch.tensor([signed], dtype=torch.int64)


def _useful(variants: Sequence[float], source: Source) -> list[float]:
    """Scaling changes floating-point inputs only; without any, one replay is enough."""
    if any(t.is_floating_point() or t.is_complex() for t in source.inputs):
        return list(variants)
    return [1.0]


def _scaled_copies(
    captured: Invocation, source: Source, factor: float
) -> tuple[list[torch.Tensor], list[Any]]:
    """Copies of the source's inputs: (those that need gradients, all leaves)."""
    tensors = iter(zip(source.inputs, captured.requires_grad, strict=True))
    needing, leaves = [], []
    for leaf in captured.leaves:
        if not isinstance(leaf, torch.Tensor):
            leaves.append(leaf)
            continue
        tensor, needs_grad = next(tensors)
        copy = tensor.clone()
        if factor != 1.0 and (copy.is_floating_point() or copy.is_complex()):
            copy.mul_(factor)
        if needs_grad:
            copy.requires_grad_(True)
            needing.append(copy)
        leaves.append(copy)
    return needing, leaves


def _outputs(output: Any, captured: Invocation) -> list[torch.Tensor]:
    found = [t for t in pytree.tree_leaves(output) if torch.is_tensor(t)]
    mask = captured.output_mask
    return [t for t, wanted in zip(found, mask, strict=True) if wanted]


@contextmanager
def _beside_training(module: nn.Module, device: torch.device) -> Iterator[None]:
    """Deterministic kernels, gradients on; buffers and RNG given back afterwards."""
    # The debug mode is the same switch as use_deterministic_algorithms, which would
    # import torch's compiler here: seconds, at the first check.
    was = torch.get_deterministic_debug_mode()
    settings: Any = torch.utils.deterministic
    filled = settings.fill_uninitialized_memory
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    with rng.preserved(device), torch.enable_grad(), warnings.catch_warnings():
        # An operator without a deterministic kernel would warn here on every check.
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        torch.set_deterministic_debug_mode("warn")
        settings.fill_uninitialized_memory = False
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(was)
            settings.fill_uninitialized_memory = filled
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


@contextmanager
def _autocast(captured: Invocation, device: torch.device) -> Iterator[None]:
    enabled, dtype = captured.autocast
    with torch.autocast(device.type, dtype=dtype, enabled=enabled):
        yield
