"""Hand on other values in a graph, with the gradient of the healthy ones.

A computation whose result was stored wrong: backward knows nothing of it. Imported by
`sdc_activation` when it strikes, because it needs torch.
"""

from __future__ import annotations

from typing import Any

import torch


def swapped(healthy: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """`wrong` in the place of `healthy`: same graph, same gradients."""
    found: torch.Tensor = _Swap.apply(healthy, wrong)  # type: ignore[no-untyped-call]
    return found


class _Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, healthy: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
        return wrong.view_as(wrong)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return gradients[0], None
