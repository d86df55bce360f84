"""Sequence numbers across the wrap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spraycheck.psn import PSN_MODULUS, psn_add, psn_distance

psns = st.integers(0, PSN_MODULUS - 1)


@given(psns, st.integers(-(PSN_MODULUS // 2), PSN_MODULUS // 2 - 1))
def test_distance_undoes_adding_across_the_wrap(psn: int, step: int) -> None:
    assert psn_distance(psn, psn_add(psn, step)) == step


def test_the_number_after_the_last_is_zero() -> None:
    assert psn_add(PSN_MODULUS - 1, 1) == 0
    assert psn_distance(PSN_MODULUS - 1, 0) == 1
    assert psn_distance(0, PSN_MODULUS - 1) == -1
