"""The optimizer recipe: a rotating slice of the real update, and its re-run (sec. 9).

    pre-hook    clone parameter, effective gradient, slots and step of 64 Ki elements
    real step   runs unchanged
    after       peers compare what they captured and what the real step made of it;
                the source's capture is broadcast, every peer runs the same base
                optimizer on it, and the results are compared
                each peer also re-runs its own capture: equal to its real update?

Needs corresponding replicated ownership; a group whose slots cannot be sliced is left
out and named as blind. Never touches a live parameter, gradient or slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim import Optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run of elements of one parameter, captured before the real update."""

    name: str
    live: torch.nn.Parameter
    group: int
    start: int
    stop: int
    weight: torch.Tensor  # 1-d clone
    gradient: torch.Tensor  # 1-d clone of the effective gradient
    slots: dict[str, Any]  # 1-d clones of per-element slots, clones of the rest

    def now(self) -> torch.Tensor:
        """The same elements of the live parameter (1-d view, no copy)."""
        return self.live.detach().reshape(-1)[self.start : self.stop]

    def tensors(self) -> list[torch.Tensor]:
        """Everything that the source broadcasts, in a fixed order."""
        slots = [v for _, v in sorted(self.slots.items()) if torch.is_tensor(v)]
        return [self.weight, self.gradient, *slots]

    def with_tensors(self, tensors: list[torch.Tensor]) -> Piece:
        """This piece with the source's values in place of its own."""
        rest = iter(tensors)
        weight, gradient = next(rest), next(rest)
        slots = {
            key: next(rest) if torch.is_tensor(value) else value
            for key, value in sorted(self.slots.items())
        }
        return Piece(name=self.name, live=self.live, group=self.group,
                     start=self.start, stop=self.stop, weight=weight,
                     gradient=gradient, slots=slots)  # fmt: skip


def parameter_order(
    optimizer: Optimizer, names: dict[int, str]
) -> list[tuple[int, str, torch.nn.Parameter]]:
    """(group, name, parameter) of every parameter, in the optimizer's order."""
    return [
        (index, names.get(id(parameter), f"group{index}.{position}"), parameter)
        for index, group in enumerate(optimizer.param_groups)
        for position, parameter in enumerate(group["params"])
    ]


def capture(
    optimizer: Optimizer, names: dict[int, str], start: int, num_elements: int
) -> list[Piece]:
    """Clone at most `num_elements` from element `start` of the parameter order on."""
    pieces, offset = [], 0
    end = start + num_elements
    for group, name, parameter in parameter_order(optimizer, names):
        first = max(start - offset, 0)
        last = min(end - offset, parameter.numel())
        offset += parameter.numel()
        gradient = parameter.grad
        if first >= last or gradient is None or gradient.is_sparse:
            continue
        slots = _slice_slots(optimizer.state.get(parameter, {}), parameter, first, last)
        if slots is not None:
            pieces.append(
                Piece(
                    name=name,
                    live=parameter,
                    group=group,
                    start=first,
                    stop=last,
                    weight=_clone(parameter, first, last),
                    gradient=_clone(gradient, first, last),
                    slots=slots,
                )
            )
    return pieces


def rerun(
    optimizer: Optimizer, pieces: list[Piece]
) -> list[tuple[torch.Tensor, dict[str, Any]]]:
    """Apply the same base optimizer to copies; (updated weight, slots) per piece."""
    clones = [torch.nn.Parameter(piece.weight.clone()) for piece in pieces]
    groups = []
    for index, group in enumerate(optimizer.param_groups):
        mine = [c for c, p in zip(clones, pieces, strict=True) if p.group == index]
        if mine:
            config = {k: _copied(v) for k, v in group.items() if k != "params"}
            groups.append({**config, "params": mine})
    if not groups:
        return []
    again = type(optimizer)(groups)  # type: ignore[call-arg]  # subclasses have defaults
    for clone, piece in zip(clones, pieces, strict=True):
        clone.grad = piece.gradient.clone()
        if piece.slots:
            again.state[clone] = {k: _copied(v) for k, v in piece.slots.items()}
    again.step()
    return [(clone.detach(), dict(again.state[clone])) for clone in clones]


def configuration(optimizer: Optimizer) -> str:
    """The groups' settings as text: what must be equal on every peer (sec. 9)."""
    rows = []
    for group in optimizer.param_groups:
        row = {k: _plain(v) for k, v in group.items() if k != "params"}
        rows.append(repr(sorted(row.items())))
    return f"{type(optimizer).__qualname__}{rows}"


def owned_tensors(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    """Tensors that the optimizer keeps outside parameters' slots (sec. 9)."""
    for group in optimizer.param_groups:
        for _, value in sorted(group.items()):
            if torch.is_tensor(value):
                yield value
    for key, value in optimizer.state.items():
        if not torch.is_tensor(key) and torch.is_tensor(value):
            yield value


def _slice_slots(
    state: dict[str, Any], parameter: torch.Tensor, first: int, last: int
) -> dict[str, Any] | None:
    slots: dict[str, Any] = {}
    for key, value in state.items():
        if not torch.is_tensor(value) or value.ndim == 0:
            slots[key] = _copied(value)
        elif value.shape == parameter.shape:
            slots[key] = _clone(value, first, last)
        else:  # a factored slot has no slice
            return None
    return slots


def _clone(tensor: torch.Tensor, first: int, last: int) -> torch.Tensor:
    return tensor.detach().reshape(-1)[first:last].clone()


def _copied(value: Any) -> Any:
    return value.detach().clone() if torch.is_tensor(value) else value


def _plain(value: Any) -> Any:
    return value.detach().cpu().tolist() if torch.is_tensor(value) else value
