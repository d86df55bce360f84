"""What must match between callers of one collective, and what may differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scout.fingerprint import (
    FIELDS,
    Fingerprint,
    agreement,
    differing_fields,
    parse,
)

_words = st.text("abc019[],x", min_size=1, max_size=6)
_fingerprints = st.builds(
    Fingerprint, op=_words, reduction=_words, dtype=_words, shape=_words, root=_words
)


@given(_fingerprints)
def test_a_fingerprint_reads_back(fingerprint: Fingerprint) -> None:
    assert parse(str(fingerprint)) == fingerprint


def test_the_text_is_as_documented() -> None:
    fingerprint = Fingerprint(
        op="all_reduce", reduction="sum", dtype="float32", shape="[1024]"
    )
    assert str(fingerprint) == "all_reduce|sum|float32|[1024]|root=-"


@pytest.mark.parametrize("text", ["", "a|b|c|d", "a|b|c|d|e", "a|b|c|d|root=-|f"])
def test_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed: op\|reduction\|dtype"):
        parse(text)


@given(_fingerprints, _fingerprints)
def test_exactly_the_fields_that_differ_are_named(
    a: Fingerprint, b: Fingerprint
) -> None:
    expected = tuple(name for name in FIELDS if getattr(a, name) != getattr(b, name))
    assert differing_fields(str(a), str(b)) == expected
    assert differing_fields(str(b), str(a)) == expected


def test_a_field_that_may_differ_is_compatible_with_anything() -> None:
    splits = str(Fingerprint(op="all_to_all", shape="*"))
    assert (
        differing_fields(splits, str(Fingerprint(op="all_to_all", shape="[3]"))) == ()
    )
    assert differing_fields(splits, str(Fingerprint(op="broadcast"))) == ("op",)


def test_another_format_is_different_as_a_whole() -> None:
    assert differing_fields("v2:...", str(Fingerprint(op="x"))) == ("fingerprint",)


def test_the_most_frequent_fingerprint_is_the_reference() -> None:
    a, b = str(Fingerprint(op="a")), str(Fingerprint(op="b"))
    found = agreement({0: b, 1: a, 2: b, 3: b})
    assert (found.reference, found.agree, found.differ) == (b, (0, 2, 3), (1,))


@given(st.dictionaries(st.integers(0, 7), _fingerprints.map(str), min_size=1))
def test_agreement_splits_all_ranks_in_two(published: dict[int, str]) -> None:
    found = agreement(published)
    assert sorted([*found.agree, *found.differ]) == sorted(published)
    assert found.agree
