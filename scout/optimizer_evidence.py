"""The optimizer recipe's surfaces: what of a slice is compared (SCOUT sec. 6.1, 9).

    broadcast  the source's slice as received      gradient  own effective gradient
    config     group settings                     slots     own slots before update
    updated    the source's slice, re-run here     weights   own weights after update
    rerun      own re-run equals own real update (1) or not (0)

Gradient and slots are compared themselves: a one-ulp flip of a gradient reaches the
weights in few AdamW steps only (FACTS). Exchanges nothing; `check` does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Optimizer

from scout import optimizer_slice as slices
from scout import replay
from scout.evidence import Surface, digest

_ASPECTS = (
    "broadcast",
    "config",
    "gradient",
    "slots",
    "weights",
    "updated",
    "rerun",
)


def surfaces(pieces: list[slices.Piece]) -> list[Surface]:
    """The surfaces of one slice, in the order of the exchange."""
    place = _place(pieces)
    return [
        Surface(name=f"optimizer.{what}", recipe="optimizer", layer=place)
        for what in _ASPECTS
    ]


def structure(piece: slices.Piece) -> tuple[Any, ...]:
    """What must be equal on every peer before the slice is broadcast."""
    tensors = [(t.dtype, tuple(t.shape)) for t in piece.tensors()]
    return (piece.name, piece.start, piece.stop, tensors)


def values_of(
    optimizer: Optimizer, pieces: list[slices.Piece], received: list[torch.Tensor]
) -> dict[str, int]:
    """This peer's value of every surface; `received` is the source's slice."""
    theirs, at = [], 0
    for piece in pieces:
        count = len(piece.tensors())
        theirs.append(piece.with_tensors(received[at : at + count]))
        at += count
    updated = slices.rerun(optimizer, theirs)
    own = slices.rerun(optimizer, pieces)
    same = all(
        replay.combined([weight]) == replay.combined([piece.now()])
        for (weight, _), piece in zip(own, pieces, strict=True)
    )
    slots = [tensor for piece in pieces for tensor in piece.tensors()[2:]]
    return {
        "optimizer.broadcast": replay.combined(received),
        "optimizer.config": digest(
            slices.configuration(optimizer), [_scalars(piece.slots) for piece in pieces]
        ),
        "optimizer.gradient": replay.combined([piece.gradient for piece in pieces]),
        "optimizer.slots": replay.combined([*slots, *slices.owned_tensors(optimizer)]),
        "optimizer.weights": replay.combined([piece.now() for piece in pieces]),
        "optimizer.updated": replay.combined(
            [t for weight, state in updated for t in (weight, *_tensors(state))]
        ),
        "optimizer.rerun": int(same),
    }


def _scalars(slots: dict[str, Any]) -> list[tuple[str, str]]:
    return [(k, repr(v)) for k, v in sorted(slots.items()) if not torch.is_tensor(v)]


def _tensors(state: dict[str, Any]) -> list[torch.Tensor]:
    return [v for _, v in sorted(state.items()) if torch.is_tensor(v)]


def _place(pieces: list[slices.Piece]) -> str:
    first, last = pieces[0].name, pieces[-1].name
    return first if first == last else f"{first} .. {last}"
