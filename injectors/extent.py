"""Which elements of a tensor a corruption reaches: one, a row, a share, every n-th.

Drawn from the scenario's seed where the scenario leaves it open, for each size of
tensor anew, so that a repeated run strikes the same elements. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from injectors.errors import CannotInject
from injectors.window import draw

if TYPE_CHECKING:
    import torch

Shape = Literal["element", "row", "fraction", "periodic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What of a tensor is reached."""

    shape: Shape
    element: int | None  # row-major index; None: drawn
    fraction: float  # of all elements, only for `fraction`
    period: int  # elements from one to the next, only for `periodic`
    draw_key: str

    def places(self, tensor: torch.Tensor) -> torch.Tensor:
        """Row-major indices (int64, 1-d, ascending) of what is reached in `tensor`.

        Raises:
            CannotInject: the tensor is empty, or has no such element.
        """
        import torch

        size = tensor.numel()
        first = self._element(size)
        if self.shape == "element":
            return torch.tensor([first])
        if self.shape == "row":  # along the last dim
            width = tensor.shape[-1] if tensor.ndim else 1
            start = first - first % width
            return torch.arange(start, start + width)
        if self.shape == "periodic":
            return torch.arange(first % min(self.period, size), size, self.period)
        count = max(1, math.floor(self.fraction * size))
        chosen = draw(f"{self.draw_key}/fraction").sample(range(size), count)
        return torch.tensor(sorted(chosen))

    def _element(self, size: int) -> int:
        if size == 0:
            raise CannotInject("a tensor without elements; allowed: one or more")
        if self.element is None:
            return draw(f"{self.draw_key}/element").randrange(size)
        if self.element >= size:
            raise CannotInject(
                f"element {self.element} of a tensor; allowed: 0..{size - 1}"
            )
        return self.element
