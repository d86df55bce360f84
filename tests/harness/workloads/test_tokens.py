"""What ranks train on: the same data for the same seed, other data for each rank."""

from __future__ import annotations

from harness.scenario import Workload
from harness.workloads.tokens import Tokens


def drawn(rank: int, skewed_rank: int | None) -> set[int]:
    """Every token that ten sequences of a rank hold."""
    tokens = Tokens(Workload(vocab_size=64, skewed_rank=skewed_rank), seed=1, rank=rank)
    return {int(token) for index in range(10) for token in tokens[index]}


def test_only_the_skewed_rank_has_the_upper_half_of_the_vocabulary_alone() -> None:
    assert drawn(2, skewed_rank=2) == set(range(32, 64))
    assert drawn(1, skewed_rank=2) == set(range(64)) == drawn(2, skewed_rank=None)
