"""Numbers carry their unit, and absence is never a zero."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.views import wording
from vocab.verdict import Kind, State


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not measured"),
        (0.0, "0 s"),
        (0.00035, "350 µs"),
        (0.0123, "12.3 ms"),
        (1.25, "1.25 s"),
        (100.4, "100 s"),
        (200.0, "3 min 20 s"),
        (18_061.0, "5 h 1 min"),
    ],
)
def test_seconds_choose_their_unit(value: float | None, text: str) -> None:
    assert wording.seconds(value) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_measured_duration_never_reads_as_zero(value: float) -> None:
    assert not wording.seconds(value).startswith(("0 ", "0.0 "))


def test_units_agree_with_their_number() -> None:
    assert wording.number(1.0, "peers") == "1 peer"
    assert wording.number(3.0, "peers") == "3 peers"
    assert wording.number(1.0, "ms") == "1 ms"
    assert wording.number(None, "peers") == "not measured"


def test_names_are_joined_as_in_prose() -> None:
    assert wording.names(()) == "nobody"
    assert wording.names(("rank1",)) == "rank1"
    assert wording.names(("rank1", "rank2", "rank5")) == "rank1, rank2 and rank5"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ""),
        ("all agree", "All agree."),
        ("rank2 differs", "rank2 differs."),
        ("hidden.forward is slow!", "hidden.forward is slow!"),
    ],
)
def test_sentences_keep_the_small_letter_of_names(text: str, sentence: str) -> None:
    assert wording.sentence(text) == sentence


def test_an_incident_without_a_culprit_says_its_state() -> None:
    assert wording.incident(Kind.SDC, State.ATTRIBUTED, ("rank2",)) == "SDC of rank2"
    text = wording.incident(Kind.HANG, State.GROUP_SCOPED, ())
    assert text == "hang of nobody (group scoped)"


def test_wall_times_are_utc_with_milliseconds() -> None:
    assert wording.utc(1_790_000_000_123_456_789) == "2026-09-21T14:13:20.123Z"
