"""Outcomes: what was expected against what was found, one rule at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks import score, unscored
from harness.results import Outcome, Results
from harness.store import Ended
from tests.harness.played import (
    EXPECT_SDC,
    FINISHED,
    SDC,
    STEPS,
    Play,
    check,
    healed,
    healthy,
    injected,
    scenario,
    struck,
    verdict,
)
from vocab import events as ev


def sdc_run(play: Play, ended: Ended | None = FINISHED) -> Results:
    return score(scenario([SDC], [EXPECT_SDC]), play.events, ended)


def clean_run(play: Play, ended: Ended | None = FINISHED, **fields: Any) -> Results:
    return score(scenario(**fields), play.events, ended)


def test_a_culprit_found_in_its_window_passes() -> None:
    results = sdc_run(struck(verdict("sdc", 2, step=6)))
    assert results.outcome is Outcome.PASS
    assert results.reason == "sdc rank2 found at step 6"
    [incident] = results.incidents
    assert (incident.found, incident.verdict_id, incident.found_step) == (True, "v1", 6)
    assert incident.latency_steps == 1
    # The verdict is two events (file opened, injected) of 0.1 s behind the injection.
    assert incident.latency_s == pytest.approx(0.1)
    [fault] = results.faults
    assert (fault.injected, fault.healed, fault.num_strikes) == (True, True, 3)
    assert fault.changes == ("w[0] bit 21: 0x0 -> 0x1",)


OUTSIDE = {**EXPECT_SDC, "outside_coverage": True}


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ((), Outcome.PASS),
        ((verdict("sdc", 2, step=6),), Outcome.PASS),
        ((verdict("sdc", 1, step=6),), Outcome.FAIL),
        ((verdict("sdc", 2, step=6), verdict("sdc", 1, name="v2")), Outcome.FAIL),
        ((verdict("straggler", 2, step=6),), Outcome.FAIL),
    ],
)
def test_outside_the_coverage_nobody_must_be_found_and_nobody_wrong_blamed(
    verdicts: Any, outcome: Outcome
) -> None:
    results = score(scenario([SDC], [OUTSIDE]), struck(*verdicts).events, FINISHED)
    assert results.outcome is outcome
    [incident] = results.incidents
    assert not incident.is_missed


def test_a_clean_run_without_verdict_passes() -> None:
    results = clean_run(healthy())
    assert results.outcome is Outcome.PASS
    assert results.reason == "nobody was blamed, as expected"
    assert (results.num_checks, results.num_verdicts) == (6, 0)
    assert results.steps_done == (STEPS,) * 4


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ((), "sdc rank2 (attributed) was not found in steps 5 to 8"),
        ((verdict("sdc", 1),), "on rank1: expected to be blamed for sdc: rank2"),
        ((verdict("sdc", 2, 1),), "on rank2, rank1: expected to be blamed for sdc"),
        ((verdict("straggler", 2),), "nothing of kind straggler was expected"),
        ((verdict("sdc", 2, step=4),), "at step 4, before its window opens at 5"),
        ((verdict("sdc", 2, step=9),), "at step 9, its window closed after 8"),
        ((verdict("sdc", 2, step=None),), "at no step"),
        ((verdict("sdc", state="group_scoped"),), "on nobody: expected to be blamed"),
        ((verdict("sdc", state="inconclusive"),), "sdc verdict (inconclusive)"),
        (
            (verdict("sdc", 2), verdict("sdc", 2, step=7, name="v2")),
            "this incident was reported already",
        ),
        (
            (verdict("sdc", 2), verdict("sdc", 3, name="v2")),
            "on rank3: expected to be blamed for sdc: rank2",
        ),
    ],
)
def test_anything_but_the_exact_finding_fails(verdicts: Any, words: str) -> None:
    results = sdc_run(struck(*verdicts))
    assert results.outcome is Outcome.FAIL
    assert words in results.reason


@pytest.mark.parametrize("state", ["attributed", "group_scoped", "inconclusive"])
def test_a_verdict_in_a_clean_run_fails(state: str) -> None:
    ranks = (1,) if state == "attributed" else ()
    results = clean_run(healthy().verdicts(verdict("straggler", *ranks, state=state)))
    assert results.outcome is Outcome.FAIL
    assert "nothing of kind straggler was expected" in results.reason


def test_a_healthy_verdict_blames_nobody() -> None:
    play = healthy().verdicts(verdict("none", state="healthy"))
    assert clean_run(play).outcome is Outcome.PASS


@pytest.mark.parametrize("state", ["group_scoped", "inconclusive", "incomplete_data"])
def test_an_expected_verdict_that_names_nobody_passes(state: str) -> None:
    expect = {"kind": "sdc", "state": state, "from_step": 5, "by_step": 8}
    play = struck(verdict("sdc", state=state))
    results = score(scenario([SDC], [expect]), play.events, FINISHED)
    assert results.outcome is Outcome.PASS


def test_unexpected_incomplete_data_is_inconclusive() -> None:
    results = clean_run(healthy().verdicts(verdict("sdc", state="incomplete_data")))
    assert results.outcome is Outcome.INCONCLUSIVE
    assert "incomplete data at step 6: as told" in results.reason
    assert results.extras == ()


@pytest.mark.parametrize(
    "event",
    [
        ev.DetectorDisabled(component="scout", reason="out of memory", step=3),
        ev.UnreadableLine(file="rank1.jsonl", offset=7, error="no JSON"),
        ev.Problem(component="observer", message="clock jumped"),
    ],
)
def test_trouble_of_a_detector_is_never_a_pass(event: ev.Event) -> None:
    clean = clean_run(healthy().add("rank1", event))
    assert clean.outcome is Outcome.INCONCLUSIVE
    found = sdc_run(struck(verdict("sdc", 2)).add("rank1", event))
    assert found.outcome is Outcome.INCONCLUSIVE
    missed = sdc_run(struck().add("rank1", event))
    assert missed.outcome is Outcome.INCONCLUSIVE
    wrong = sdc_run(struck(verdict("sdc", 1)).add("rank1", event))
    assert wrong.outcome is Outcome.FAIL


def test_a_run_in_which_nobody_looked_is_inconclusive() -> None:
    assert clean_run(healthy(), scout="off").outcome is Outcome.INCONCLUSIVE
    assert clean_run(healthy(0)).outcome is Outcome.INCONCLUSIVE
    incomplete = healthy(0).add("rank0", check(problem="rank3 has no capture"))
    assert clean_run(incomplete).outcome is Outcome.INCONCLUSIVE


def test_a_hang_found_without_any_check_passes() -> None:
    hang = {"kind": "hang.frozen", "rank": 1, "at_step": 3, "id": "freeze"}
    expect = {"kind": "hang", "ranks": [1], "from_step": 3, "by_step": 4}
    play = healthy(0).add("faults.harness", replace(
        injected("freeze", 3, 1), kind="hang.frozen"))  # fmt: skip
    play.add("observer0", ev.VerdictIssued(verdict=verdict("hang", 1, step=3)))
    play.add("faults.harness", healed("freeze", 1))
    results = score(scenario([hang], [expect]), play.events, FINISHED)
    assert results.outcome is Outcome.PASS


def test_a_fault_that_never_struck_is_not_a_miss() -> None:
    results = sdc_run(healthy())
    assert results.outcome is Outcome.NOT_INJECTED
    assert results.reason.startswith("flip: it never struck")
    [fault] = results.faults
    assert (fault.injected, fault.targets) == (False, ("rank2",))
    assert fault.num_strikes is None


def test_a_fault_that_failed_says_why() -> None:
    failed = ev.FaultFailed(fault_id="flip", kind="sdc.parameter", reason="no such w")
    results = sdc_run(healthy().add("faults.rank2", failed))
    assert results.outcome is Outcome.NOT_INJECTED
    assert results.reason == "flip: no such w"


def test_a_trigger_without_proof_is_no_injection() -> None:
    event = ev.FaultTriggered(fault_id="flip", kind="sdc.parameter", step=5)
    results = sdc_run(healthy().add("faults.rank2", event).verdicts(verdict("sdc", 2)))
    assert results.outcome is Outcome.NOT_INJECTED
    assert "nobody proved that it struck" in results.reason


def test_a_fault_that_was_not_healed_is_our_error() -> None:
    play = healthy().add("faults.rank2", injected()).verdicts(verdict("sdc", 2))
    results = sdc_run(play)
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert results.reason == "flip struck and was not healed"


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (None, "the harness was killed before the run ended"),
        (replace(FINISHED, reason="timeout", detail="not over after 5 s"), "timeout"),
        (replace(FINISHED, reason="infrastructure", detail="zygote"), "zygote"),
        (replace(FINISHED, reason="rank-died", detail="rank1 ended"), "rank1 ended"),
    ],
)
def test_a_broken_run_is_neither_pass_nor_fail(ended: Ended | None, words: str) -> None:
    for play in (struck(verdict("sdc", 2)), struck(verdict("sdc", 1)), struck()):
        results = sdc_run(play, ended)
        assert results.outcome is Outcome.INFRASTRUCTURE
        assert words in results.reason


def test_a_rank_that_stopped_short_is_an_infrastructure_error() -> None:
    play = Play().steps(STEPS, STEPS, 7, STEPS).add("rank0", check())
    results = clean_run(play)
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert results.reason == "rank2 did 7 of 12 steps"
    assert results.steps_done == (12, 12, 7, 12)


def test_a_death_that_was_expected_is_judged_by_its_verdict() -> None:
    expect = {"kind": "crash", "ranks": [1], "from_step": 3, "by_step": 5}
    ended = replace(FINISHED, reason="rank-died", detail="rank1 ended with signal 9")
    play = Play().steps(4, 4, 4, 4).add("rank0", check())
    died = play.add(
        "harness", ev.ProcessExited(name="rank1", pid=7, exit_code=None, signal=9)
    )
    wanted = scenario(expect=[expect])
    assert score(wanted, died.events, ended).outcome is Outcome.FAIL
    play.verdicts(verdict("crash", 1, step=4))
    assert score(wanted, play.events, ended).outcome is Outcome.PASS


def test_the_death_of_the_struck_process_is_its_heal() -> None:
    expect = {"kind": "crash", "ranks": [2], "from_step": 5, "by_step": 8}
    ended = replace(FINISHED, reason="rank-died", detail="rank2 ended with signal 9")
    play = healthy().add("faults.rank2", injected()).add(
        "harness", ev.ProcessExited(name="rank2", pid=7, exit_code=None, signal=9)
    )  # fmt: skip
    play.verdicts(verdict("crash", 2))
    results = score(scenario([SDC], [expect]), play.events, ended)
    assert results.outcome is Outcome.PASS


def test_a_cancelled_run_is_cancelled_whatever_was_found() -> None:
    ended = replace(FINISHED, reason="cancelled", detail="asked to end")
    for play in (struck(), struck(verdict("sdc", 1)), Play()):
        results = sdc_run(play, ended)
        assert (results.outcome, results.reason) == (Outcome.CANCELLED, "asked to end")


def test_a_refined_verdict_replaces_one_that_named_nobody() -> None:
    vague = verdict("sdc", state="group_scoped", name="v1")
    sharp = verdict("sdc", 2, name="v2", supersedes="v1")
    assert sdc_run(struck(vague, sharp)).outcome is Outcome.PASS


def test_an_accusation_cannot_be_taken_back() -> None:
    wrong = verdict("sdc", 1, name="v1")
    right = verdict("sdc", 2, name="v2", supersedes="v1")
    results = sdc_run(struck(wrong, right))
    assert results.outcome is Outcome.FAIL
    assert [extra.blamed for extra in results.extras] == [("rank1",)]


def test_what_was_not_measured_is_none_and_not_zero() -> None:
    results = sdc_run(struck())
    [incident] = results.incidents
    assert (incident.latency_s, incident.latency_steps) == (None, None)
    assert (incident.verdict_id, incident.found_step) == (None, None)
    killed = sdc_run(struck(), None)
    assert (killed.wall_s, killed.first_step_s) == (None, None)


def test_a_check_that_crashed_claims_nothing() -> None:
    results = unscored(scenario(), FINISHED, "the check itself failed: KeyError")
    assert results.outcome is Outcome.INFRASTRUCTURE
    assert results.problems == ("the check itself failed: KeyError",)


_RANKS = st.sets(st.integers(0, 3), max_size=3)


@given(blamed=_RANKS, step=st.integers(1, 12), kind=st.sampled_from(["sdc", "hang"]))
def test_only_the_exact_set_in_the_window_passes(
    blamed: set[int], step: int, kind: str
) -> None:
    results = sdc_run(struck(verdict(kind, *blamed, step=step)))
    is_right = kind == "sdc" and blamed == {2} and 5 <= step <= 8
    assert results.outcome is (Outcome.PASS if is_right else Outcome.FAIL)


@given(order=st.permutations(range(4)))
def test_the_order_of_other_events_does_not_matter(order: list[int]) -> None:
    others = [
        ("rank0", check()),
        ("faults.rank2", injected()),
        ("faults.rank2", healed()),
        ("rank0", ev.VerdictIssued(verdict=verdict("sdc", 2))),
    ]
    play = Play().steps(STEPS, STEPS, STEPS, STEPS)
    for index in order:
        play.add(*others[index])
    assert sdc_run(play).outcome is Outcome.PASS
