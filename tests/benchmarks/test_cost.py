"""The cost benchmark measures what it names; `make bench` judges its goals."""

from __future__ import annotations

import pytest

from benchmarks.cost import Size, claims

pytestmark = pytest.mark.jobs


def test_cost_is_set_against_the_formula_and_against_noise() -> None:
    size = Size(num_layers=2, width=16, seq_len=8, batch=1, steps=20)
    between, a_a, share, sent, memory = claims(size)
    assert [claim.goal for claim in (between, a_a, share)] == ["<= 1.01", None, "<= 2"]
    assert "19 paired steps; A/A ratio" in between.note
    assert share.baseline == 3 / (20 * 2)
    assert "V = 3, I = 20, N = 2" in share.name
    assert sent.value > 0
    assert memory.baseline is not None
