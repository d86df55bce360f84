"""Patterns and extents: what becomes of values, which ones, and what proves it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from injectors import bits
from injectors.corruption import Corruption, change_of
from injectors.errors import CannotInject
from injectors.sdc_parameter import SdcParameter
from injectors.tampering import Tampering
from tests.injectors.small import Job


def corruption(**fields: Any) -> Corruption:
    given = {"kind": "sdc.parameter", "rank": 0, "at_step": 1, **fields}
    return Corruption.of(SdcParameter(**given), Job().context())


def wrong(values: list[float], **fields: Any) -> list[float]:
    found: list[float] = corruption(**fields).wrong(torch.tensor(values), 0).tolist()
    return found


def test_every_pattern_does_what_it_says() -> None:
    one_ulp = 1.0 + 2.0**-23
    assert wrong([1.0], stuck_bit=0) == [one_ulp]
    assert wrong([1.0], stuck_bit=31) == [-1.0]
    assert wrong([1.0], stuck_bit=0, more_bits=(22, 31)) == [-(1.5 + 2.0**-23)]
    assert wrong([one_ulp, 1.0], pattern="stuck", stuck_bit=0, level=0) == [1.0, 1.0]
    assert wrong([1.0, 1.5], pattern="stuck", stuck_bit=22) == [1.5, 1.5]
    assert wrong([2.0, -4.0], pattern="scale", factor=1.5) == [3.0, -6.0]
    assert wrong([2.0, -4.0], pattern="sign") == [-2.0, 4.0]
    assert wrong([2.0, -4.0], pattern="set", value=7) == [7.0, 7.0]
    assert wrong([2.0], pattern="inf") == [float("inf")]
    assert wrong([2.0], pattern="nan") != wrong([2.0], pattern="nan")  # NaN


def test_noise_is_as_large_as_asked_for_drawn_anew_and_takes_no_random_number() -> None:
    values = torch.full((4000,), 2.0)
    before = torch.get_rng_state()
    made = corruption(pattern="noise", factor=0.1)
    first, second = made.wrong(values, 0), made.wrong(values, 1)
    assert torch.equal(first, made.wrong(values, 0))
    assert not torch.equal(first, second)
    # 4000 normal draws of sd 0.2: their sd is within 5 % but for 1 in 100,000 seeds.
    assert float((first - values).std()) == pytest.approx(0.2, rel=0.05)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_flip_that_is_flipped_again_is_gone(dtype: torch.dtype) -> None:
    values = torch.randn(9, dtype=torch.float64).to(dtype)
    made = corruption(stuck_bit=0, more_bits=(bits.num_bits(values) - 1,))
    assert torch.equal(made.wrong(made.wrong(values, 0), 1), values)


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    shape=st.sampled_from(["element", "row", "fraction", "periodic"]),
    fraction=st.floats(0.01, 1),
    period=st.integers(1, 100),
    seed=st.integers(0, 99),
)
def test_an_extent_reaches_what_it_says_and_only_inside_the_tensor(
    rows: int, columns: int, shape: Any, fraction: float, period: int, seed: int
) -> None:
    tensor = torch.zeros(rows, columns)
    extent = corruption(
        extent=shape, fraction=fraction, period=period, id=f"f{seed}"
    ).extent
    places = extent.places(tensor)
    assert torch.equal(places, extent.places(tensor))
    assert places.tolist() == sorted(set(places.tolist()))
    assert int(places[0]) >= 0
    assert int(places[-1]) < rows * columns
    if shape == "element":
        assert len(places) == 1
    if shape == "row":
        assert len(places) == columns
        assert len({int(place) // columns for place in places}) == 1
    if shape == "fraction":
        assert len(places) == max(1, int(fraction * rows * columns))
    if shape == "periodic":
        assert {int(step) for step in places.diff()} <= {period}


def test_only_the_reached_elements_change_and_all_come_back() -> None:
    tensor = torch.randn(4, 6)
    before = tensor.clone()
    struck = Tampering(corruption(extent="row", element=7, pattern="sign"), "w")
    [change] = struck.strike(tensor)
    assert change.what == "w[6] negated, 6 elements"
    assert torch.equal(tensor[1], -before[1])
    assert torch.equal(tensor[[0, 2, 3]], before[[0, 2, 3]])
    [back] = struck.restore()
    assert (back.before, back.after) == (change.after, change.before)
    assert torch.equal(tensor, before)
    assert struck.restore() == ()


def test_what_others_have_overwritten_since_stays_theirs() -> None:
    tensor = torch.ones(4)
    struck = Tampering(corruption(extent="row", pattern="sign"), "w")
    struck.strike(tensor)
    tensor[2] = 9.0
    struck.restore()
    assert tensor.tolist() == [1.0, 1.0, 9.0, 1.0]


def test_a_copy_goes_wrong_and_the_value_does_not() -> None:
    value = torch.ones(3, 2).t()
    struck = Tampering(corruption(element=0, pattern="nan"), "a")
    copy, changes = struck.wrong_copy(value)
    assert copy[0, 0].isnan()
    assert copy.isnan().sum() == 1
    assert copy.shape == value.shape
    assert len(changes) == 1
    assert not value.isnan().any()


def test_what_changes_nothing_is_no_change() -> None:
    ones = torch.ones(3)
    struck = Tampering(corruption(extent="row", pattern="set", value=1), "w")
    assert struck.strike(ones) == ()
    assert change_of("w", torch.arange(3), ones, ones) is None


@pytest.mark.parametrize(
    ("fields", "dtype", "words"),
    [
        ({"stuck_bit": 40}, torch.float32, r"bit 40.*float32; allowed: 0\.\.31"),
        ({"more_bits": (16,)}, torch.bfloat16, r"bit 21.*bfloat16; allowed: 0\.\.15"),
        ({"pattern": "nan"}, torch.int64, "allowed for it: flip, stuck"),
        ({"element": 6}, torch.float32, r"element 6.*allowed: 0\.\.5"),
    ],
)
def test_what_cannot_go_wrong_is_named(
    fields: dict[str, Any], dtype: torch.dtype, words: str
) -> None:
    with pytest.raises(CannotInject, match=words):
        corruption(**fields).places(torch.zeros(6, dtype=dtype), "w")
