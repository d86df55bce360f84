"""Consensus Collective Communication: bring compact evidence together (SCOUT sec. 5).

    header   fixed-size words: are all peers at the same check, with usable captures?
    source   one broadcast of every tensor that a check replays
    evidence one AllGather of all signatures and timings of the check

Runs only on diagnostic groups of its own, never on a training group. Every exchange is
of a size that the header has made sure of: gloo aborts a healthy rank on a wrong one.
Decides nothing: `consensus` does.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from scout.errors import ExchangeFailed
from scout.mesh import Mesh, PeerGroup

_ALIGN = 64  # bytes; any dtype can be viewed at such an offset


class Exchange:
    """The diagnostic groups of one rank's peer group."""

    def __init__(
        self, group: PeerGroup, control: Any, transfer: Any, device: torch.device
    ) -> None:
        self.group = group
        self._control = control
        self._transfer = transfer
        self._device = device

    @classmethod
    def open(cls, mesh: Mesh, rank: int, device: torch.device) -> Exchange:
        """Make the diagnostic groups; every rank of the job must call this.

        Scalars go over gloo on the CPU, tensors over the accelerator's own backend
        (SCOUT sec. 9 "Optimizer boundary").
        """
        mine: Exchange | None = None
        for group in mesh.peer_groups():
            control = dist.new_group(list(group.ranks), backend="gloo")
            transfer = control
            if device.type == "cuda":
                transfer = dist.new_group(list(group.ranks), backend="nccl")
            if rank in group.ranks:
                mine = cls(group, control, transfer, device)
        assert mine is not None, "every rank stands in one peer group"
        return mine

    @property
    def peer(self) -> int:
        """This rank's index in the group."""
        return self.group.peer_of(dist.get_rank())

    def gather_words(self, words: Sequence[int]) -> list[list[int]]:
        """AllGather unsigned 64-bit words; every peer gives the same number of them.

        Raises:
            ExchangeFailed: a peer is gone.
        """
        mine = torch.tensor([_signed(word) for word in words], dtype=torch.int64)
        found = [torch.empty_like(mine) for _ in self.group.ranks]
        try:
            dist.all_gather(found, mine, group=self._control)
        except RuntimeError as error:
            raise ExchangeFailed(f"gathering evidence failed: {error}") from error
        return [[value % (1 << 64) for value in row.tolist()] for row in found]

    def gather_object(self, value: Any) -> list[Any]:
        """AllGather small picklable values; for set-up and rare cases only."""
        found: list[Any] = [None] * len(self.group.ranks)
        try:
            dist.all_gather_object(found, value, group=self._control)
        except RuntimeError as error:
            raise ExchangeFailed(f"gathering objects failed: {error}") from error
        return found

    def broadcast(
        self, tensors: Sequence[torch.Tensor], source_peer: int
    ) -> list[torch.Tensor]:
        """The source peer's tensors, in fresh memory, on every peer, in one transfer.

        Args:
            tensors: of the same dtypes and shapes on every peer; only the source's
                values are used.
            source_peer: index in the group.

        Raises:
            ExchangeFailed: a peer is gone.
        """
        offsets, total = _layout(tensors)
        packed = torch.zeros(total, dtype=torch.uint8, device=self._device)
        if self.peer == source_peer:
            for tensor, offset in zip(tensors, offsets, strict=True):
                raw = _as_bytes(tensor)
                packed[offset : offset + raw.numel()].copy_(raw)
        source_rank = self.group.ranks[source_peer]
        try:
            dist.broadcast(packed, src=source_rank, group=self._transfer)
        except RuntimeError as error:
            raise ExchangeFailed(f"broadcasting the source failed: {error}") from error
        return [
            _view(packed, offset, tensor)
            for tensor, offset in zip(tensors, offsets, strict=True)
        ]

    def close(self) -> None:
        """Leave the diagnostic groups."""
        for group in {id(g): g for g in (self._control, self._transfer)}.values():
            dist.destroy_process_group(group)


def word_of(seconds: float) -> int:
    """A float64's bits as a word, for `gather_words`."""
    word: int = struct.unpack("<Q", struct.pack("<d", seconds))[0]
    return word


def seconds_of(word: int) -> float:
    """The float64 whose bits are `word`."""
    value: float = struct.unpack("<d", struct.pack("<Q", word))[0]
    return value


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _layout(tensors: Sequence[torch.Tensor]) -> tuple[list[int], int]:
    offsets, total = [], 0
    for tensor in tensors:
        offsets.append(total)
        size = tensor.numel() * tensor.element_size()
        total += -(-size // _ALIGN) * _ALIGN
    return offsets, total


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else flat.new_empty(0).byte()


def _view(packed: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    size = like.numel() * like.element_size()
    raw = packed[offset : offset + size]
    moved = raw if like.device == packed.device else raw.to(like.device)
    return moved.view(like.dtype).reshape(like.shape)
