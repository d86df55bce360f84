"""Words of a check: what may be exchanged, and what a difference means."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scout.clock import Timing
from scout.evidence import (
    BROKEN,
    NO_CAPTURE,
    Header,
    Surface,
    agree,
    assembled,
    evidence_words,
    shared_by_most,
)

HEADER = Header(check=3, step=8, plan=1, structure=2, shapes=3, constants=4, trouble=0)
RANKS = (0, 2, 4, 6)
WORD = st.integers(0, 2**64 - 1)


def test_equal_headers_go_on() -> None:
    agreement = agree([HEADER] * 4, RANKS)
    assert agreement.problem is None
    assert agreement.same_shapes


def test_a_peer_without_a_capture_is_named_with_the_reason() -> None:
    headers = [HEADER, HEADER, replace(HEADER, trouble=NO_CAPTURE), HEADER]
    agreement = agree(headers, RANKS)
    assert agreement.missing == (2,)
    assert agreement.problem == (
        "rank4: it captured no training call of a sampled module"
    )


def test_different_structures_are_a_problem_and_never_a_culprit() -> None:
    headers = [HEADER, replace(HEADER, structure=9), HEADER, HEADER]
    agreement = agree(headers, RANKS)
    assert agreement.missing == ()
    assert agreement.problem is not None
    assert "peers captured different structures (rank2" in agreement.problem


def test_different_shapes_alone_are_allowed() -> None:
    agreement = agree([HEADER, replace(HEADER, shapes=9)], (0, 1))
    assert (agreement.problem, agreement.same_shapes) == (None, False)


def test_a_broken_diagnosis_switches_all_off() -> None:
    assert agree([HEADER, replace(HEADER, trouble=BROKEN)], (0, 1)).is_broken


@given(st.lists(WORD, min_size=7, max_size=7))
def test_a_header_survives_its_words(words: list[int]) -> None:
    assert Header.of(words).words() == words


SURFACES = [Surface(name="a", recipe="r", layer="l"), Surface(name="b", recipe="r",
                                                              layer=None)]  # fmt: skip
TIMES = [Surface(name="t", recipe="r", layer="l")]


@given(WORD, WORD, st.floats(0, 1e6))
def test_evidence_survives_its_words(one: int, two: int, seconds: float) -> None:
    taken = Timing(wall_s=seconds, on_cpu_s=seconds / 2, run_wait_s=0.0)
    words = evidence_words(SURFACES, TIMES, {"a": one, "b": two}, {"t": taken})
    found, timed, missing = assembled(SURFACES, TIMES, [words, words, words])
    assert missing == ()
    assert [s.values for s in found] == [(f"{one:016x}",) * 3, (f"{two:016x}",) * 3]
    assert [s.status for s in found] == ["agree", "agree"]
    assert timed[0].wall_s == (seconds,) * 3
    assert timed[0].on_cpu_s == (seconds / 2,) * 3


def test_a_failed_replay_is_missing_and_not_zero() -> None:
    good = evidence_words(
        SURFACES, TIMES, {"a": 0, "b": 0},
        {"t": Timing(wall_s=1.0, on_cpu_s=1.0, run_wait_s=0.0)},
    )  # fmt: skip
    failed = evidence_words(SURFACES, TIMES, None, None)
    found, timed, missing = assembled(SURFACES, TIMES, [good, failed, good])
    assert missing == (1,)
    assert found[0].values == ("0" * 16, None, "0" * 16)
    assert found[0].status == "incomplete"
    assert timed[0].wall_s == (1.0, None, 1.0)


def test_a_phase_that_a_rank_did_not_enter_is_absent_and_not_zero() -> None:
    save = Surface(name="checkpoint.save", recipe="checkpoint", layer=None)
    spent = Timing(wall_s=0.5, on_cpu_s=0.1, run_wait_s=0.0)
    with_save = evidence_words([], [save], {}, {"checkpoint.save": spent})
    without = evidence_words([], [save], {}, {})
    _, [timed], missing = assembled([], [save], [with_save, without, with_save])
    assert missing == ()
    assert timed.wall_s == (0.5, None, 0.5)
    assert timed.on_cpu_s == (0.1, None, 0.1)
    assert shared_by_most([timed]) == (timed,)


def test_what_only_one_rank_does_is_not_compared() -> None:
    save = Surface(name="checkpoint.save", recipe="checkpoint", layer=None)
    spent = Timing(wall_s=0.5, on_cpu_s=0.1, run_wait_s=0.0)
    rows = [evidence_words([], [save], {}, {"checkpoint.save": spent})]
    rows += [evidence_words([], [save], {}, {})] * 3
    assert shared_by_most(assembled([], [save], rows)[1]) == ()
