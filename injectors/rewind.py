"""Give a rank back the weights and the optimizer state that it had before a fault.

    keep()  before the fault's first step      copies of every tensor, and a digest
    back()  after its window, on every rank    copied back in place, digest compared

What a fault did to one rank's update stays in its weights, and what it did to a
gradient that is reduced stays in everybody's. A campaign of many faults in one job
(SCOUT sec. 10.2) needs each to begin from a healthy job. Called by `rank_driver` for
faults with `undo`. Random streams, data and gradients go on: no fault keeps a hold on
them.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from injectors.errors import CannotInject
from vocab.events import Change

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    weights: list[torch.Tensor]
    slots: dict[torch.Tensor, dict[str, Any]]
    digest: int


class Rewind:
    """One model and its optimizer, kept at most once at a time."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        self._model = model
        self._optimizer = optimizer
        self._kept: _Kept | None = None

    def keep(self) -> None:
        """Remember the state as it is now."""
        self._kept = _Kept(
            weights=[tensor.detach().clone() for tensor in self._weights()],
            slots={p: _copied(slots) for p, slots in self._optimizer.state.items()},
            digest=self._digest(),
        )

    def back(self) -> Change | None:
        """Restore what was kept, in place; None: nothing is kept (any more).

        Raises:
            CannotInject: the state is not what it was, to the bit.
        """
        import torch

        kept, self._kept = self._kept, None
        if kept is None:
            return None
        before = self._digest()
        with torch.no_grad():
            for live, tensor in zip(self._weights(), kept.weights, strict=True):
                live.copy_(tensor)
            for parameter in [p for p in self._optimizer.state if p not in kept.slots]:
                del self._optimizer.state[parameter]
            for parameter, slots in kept.slots.items():
                _restore(self._optimizer.state[parameter], slots)
        after = self._digest()
        if after != kept.digest:
            raise CannotInject(
                f"weights and optimizer have digest {after:#010x} after going back, "
                f"{kept.digest:#010x} before the fault"
            )
        return Change(
            what="weights and optimizer, gone back to before the fault",
            before=f"digest {before:#010x}",
            after=f"digest {after:#010x}",
        )

    def _weights(self) -> Iterator[torch.Tensor]:
        yield from self._model.parameters()
        yield from self._model.buffers()

    def _digest(self) -> int:
        """CRC-32 over every byte of weights and slots."""
        found = 0
        for tensor in self._weights():
            found = _add(found, tensor)
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                slots = self._optimizer.state.get(parameter, {})
                for key in sorted(slots):
                    found = _add(found, slots[key])
        return found


def _add(digest: int, value: Any) -> int:
    import torch

    if not isinstance(value, torch.Tensor):
        return zlib.crc32(repr(value).encode(), digest)
    flat = value.detach().cpu().contiguous().reshape(-1)
    return zlib.crc32(flat.view(torch.uint8).numpy().tobytes(), digest)


def _copied(slots: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {
        key: value.detach().clone()
        if isinstance(value, torch.Tensor)
        else copy.deepcopy(value)
        for key, value in slots.items()
    }


def _restore(live: dict[str, Any], slots: dict[str, Any]) -> None:
    import torch

    for key in [key for key in live if key not in slots]:
        del live[key]
    for key, value in slots.items():
        if isinstance(value, torch.Tensor) and isinstance(live.get(key), torch.Tensor):
            live[key].copy_(value)
        else:
            live[key] = value
