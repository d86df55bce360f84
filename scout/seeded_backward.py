"""A backward pass that begins with given gradients (SCOUT Alg. 2, backward).

What `torch.autograd.grad(outputs, wanted, grad_outputs)` gives, bit for bit. That call
checks shapes through torch's symbolic ones and so imports sympy the first time: seconds
in every rank, in the middle of the first check. Called by `replay`, timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def seeded_backward(
    outputs: Sequence[torch.Tensor],
    wanted: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
) -> tuple[torch.Tensor | None, ...]:
    """Gradients of `wanted` for `gradients` at `outputs`; None where unused."""
    root = _Seed.apply(tuple(gradients), *outputs)  # type: ignore[no-untyped-call]
    return torch.autograd.grad(root, wanted, allow_unused=True)


class _Seed(torch.autograd.Function):
    """A scalar behind the outputs whose gradient towards them is the given one."""

    @staticmethod
    def forward(
        ctx: Any, gradients: tuple[torch.Tensor, ...], *outputs: torch.Tensor
    ) -> torch.Tensor:
        ctx.gradients = gradients
        return outputs[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return (None, *ctx.gradients)
