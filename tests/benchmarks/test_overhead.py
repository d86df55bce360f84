"""The overhead benchmark measures what it names; `make bench` judges its goal."""

from __future__ import annotations

import pytest

from benchmarks.overhead import Size, claims

pytestmark = pytest.mark.jobs


def test_recording_is_compared_with_gloo_and_gloo_with_itself() -> None:
    size = Size(width=16, num_layers=2, batch=2, blocks=3, calls=50)
    found = list(claims(size))
    assert [claim.goal for claim in found] == ["<= 1.02", None, None]
    assert all(claim.ratio is not None for claim in found)
    assert "A/A ratio" in found[0].note
    assert "3 paired blocks, 1 collectives a step" in found[0].note
