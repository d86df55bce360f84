"""The input pipeline: a `DataLoader` over token sequences that are made from the seed.

Sequence `i` of a rank is a function of (seed, rank, i) alone, so a repeated or resumed
job reads the same data. Used by `train`; injectors delay or block it by `before_fetch`,
which is called in the fetching thread before each batch is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from harness.scenario import Workload

Batch = tuple[torch.Tensor, torch.Tensor]
"""ids_BT and targets_BT: the same tokens, one place on."""

TRAINING, VALIDATION = 0, 1


class Tokens(Dataset[torch.Tensor]):
    """Random token sequences of `seq_len` + 1, one stream per seed, rank and split.

    The skewed rank's hold the upper half of the vocabulary only.
    """

    def __init__(
        self, workload: Workload, *, seed: int, rank: int, split: int = TRAINING
    ) -> None:
        self._workload = workload
        self._key = (seed * 7919 + rank) * 2 + split
        vocabulary = workload.vocab_size
        self._lowest = vocabulary // 2 if rank == workload.skewed_rank else 0
        self._source = torch.Generator()
        self.before_fetch: list[Callable[[], None]] = []

    def __getitem__(self, index: int) -> torch.Tensor:
        self._source.manual_seed(self._key * 1_000_003 + index)
        size = (self._workload.seq_len + 1,)
        return torch.randint(
            self._lowest, self._workload.vocab_size, size, generator=self._source
        )

    def __getitems__(self, indices: Sequence[int]) -> list[torch.Tensor]:
        """One batch: what PyTorch's fetcher asks for where it is offered."""
        for hook in list(self.before_fetch):
            hook()
        return [self[index] for index in indices]


class _InOrder(Sampler[list[int]]):
    """Batches of consecutive indices from `first` on, without end."""

    def __init__(self, batch: int, first: int) -> None:
        self._batch = batch
        self._first = first

    def __iter__(self) -> Iterator[list[int]]:
        at = self._first
        while True:
            yield list(range(at, at + self._batch))
            at += self._batch


def loader(tokens: Tokens, batch: int, *, skip_batches: int = 0) -> Iterable[Batch]:
    """Batches without end, from the one after `skip_batches` on."""
    batches: DataLoader[Any] = DataLoader(
        tokens,
        batch_sampler=_InOrder(batch, skip_batches * batch),
        collate_fn=_shifted,
        generator=torch.Generator(),  # else it draws from the job's own random stream
    )
    return batches


def _shifted(rows: list[torch.Tensor]) -> Batch:
    ids_BT = torch.stack(rows)
    return ids_BT[:, :-1], ids_BT[:, 1:]
