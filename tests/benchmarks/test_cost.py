"""The cost benchmark measures what it names; `make bench` judges its goals."""

from __future__ import annotations

import pytest

from benchmarks.cost import Size, claims
from benchmarks.watchers import peer_missing

pytestmark = pytest.mark.jobs


def test_cost_is_set_against_the_formula_and_against_noise() -> None:
    size = Size(num_layers=2, width=16, seq_len=8, batch=1, steps=20)
    between, a_a, share, sent, memory, *beside = claims(size)
    assert [claim.goal for claim in (between, a_a, share)] == ["<= 1.01", None, "<= 2"]
    assert "19 paired steps; A/A ratio" in between.note
    assert share.baseline == 3 / (20 * 2)
    assert "V = 3, I = 20, N = 2" in share.name
    assert sent.value > 0
    assert memory.baseline is not None
    is_there = peer_missing() is None
    assert [claim.baseline is not None for claim in beside[:2]] == [is_there] * 2
    assert all(("peers" in claim.note) != is_there for claim in beside)
