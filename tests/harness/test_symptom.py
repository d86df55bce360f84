"""What is seen of a job from outside, told from exits and progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks import score
from harness.results import Outcome
from harness.scenario import Symptom
from harness.symptom import in_words, is_as_expected, observe
from tests.harness.played import FINISHED, STEPS, Play, check, injected, scenario
from vocab import events as ev

ALL = (STEPS,) * 4


def exited(rank: int, code: int | None = 1, signal: int | None = None) -> ev.Event:
    return ev.ProcessExited(name=f"rank{rank}", pid=7, exit_code=code, signal=signal)


def seen(play: Play) -> Symptom:
    return observe(scenario(), play.events)


def logged(
    *mean_losses: float | None, losses: tuple[float, ...] = (1, 2, 3, 6)
) -> Play:
    play = Play()
    for rank, (mean, loss) in enumerate(zip(mean_losses, losses, strict=True)):
        for step in range(1, STEPS + 1):
            ended = ev.StepEnded(step=step, duration_s=0.1, loss=loss, mean_loss=mean)
            play.add(f"rank{rank}", ended)
    return play


def test_a_job_that_ends_as_usual_shows_nothing() -> None:
    assert seen(Play().steps(*ALL)) == Symptom(what="none")
    assert seen(logged(3.0, 3.0, 3.0, 3.0)) == Symptom(what="none")


def test_an_aborting_neighbour_is_a_victim_and_not_who_dies_of_its_end() -> None:
    play = Play().steps(4, 4, 5, 4).add("faults.rank2", injected())
    play.add("harness", exited(0), exited(1, None, 6), exited(2), exited(3))
    assert seen(play) == Symptom(what="aborts_victim", ranks=(1,))


def test_a_culprit_that_dies_is_told_from_those_who_die_of_it() -> None:
    play = Play().steps(4, 4, 4, 4).add("faults.rank2", injected())
    play.add("harness", exited(2, 3), exited(0), exited(1))
    assert seen(play) == Symptom(what="culprit_dies", ranks=(2,))


def test_ranks_that_the_harness_ends_have_not_died() -> None:
    play = Play().steps(5, 5, 4, 5)
    play.add("harness", ev.PhaseChanged(phase="healing"), exited(0, None, 15))
    assert seen(play) == Symptom(what="stalls", ranks=(0, 1, 2, 3))


def test_a_step_longer_than_the_silence_threshold_is_a_stall() -> None:
    play = Play().steps(*ALL)
    play.add("rank1", ev.StepEnded(step=STEPS, duration_s=31.0, loss=1.0))
    assert seen(play) == Symptom(what="stalls", ranks=(1,))


@given(st.floats(-1e6, 1e6).filter(lambda wrong: abs(wrong - 3.0) > 1e-3))
def test_a_mean_loss_that_is_not_the_mean_is_wrong(wrong: float) -> None:
    play = logged(3.0, 3.0, wrong, 3.0)
    assert seen(play) == Symptom(what="completes_wrongly", ranks=(2,))


def test_what_was_not_logged_is_not_wrong() -> None:
    assert seen(logged(None, None, None, None)) == Symptom(what="none")


def test_wrong_numbers_of_a_whole_job_say_more_than_a_slow_step() -> None:
    play = logged(3.0, 3.0, 6.0, 3.0)
    slow = ev.StepEnded(step=STEPS, duration_s=60.0, loss=None)
    assert seen(play.add("rank1", slow)) == Symptom(
        what="completes_wrongly", ranks=(2,)
    )


@pytest.mark.parametrize(
    ("expected", "fits"),
    [
        ({"what": "aborts_victim"}, True),
        ({"what": "aborts_victim", "ranks": [3, 1]}, True),
        ({"what": "aborts_victim", "ranks": [1]}, False),
        ({"what": "stalls", "ranks": [1, 3]}, False),
    ],
)
def test_ranks_count_where_the_scenario_names_some(
    expected: dict[str, object], fits: bool
) -> None:
    observed = Symptom(what="aborts_victim", ranks=(1, 3))
    assert in_words(observed) == "aborts_victim (rank1, rank3)"
    assert is_as_expected(Symptom.model_validate(expected), observed) is fits


def test_another_symptom_than_expected_fails_the_run() -> None:
    play = Play().steps(*ALL).add("rank0", check())
    wanted = scenario(symptom={"what": "stalls"})
    results = score(wanted, play.events, FINISHED)
    assert results.outcome is Outcome.FAIL
    assert results.reason == "symptom none, expected stalls"
    assert results.symptom is not None
    assert not results.symptom.as_expected


def test_a_restarted_job_shows_the_symptom_of_its_first_start() -> None:
    play = Play().steps(4, 4, 4, 4).add("faults.rank2", injected())
    play.add("harness", exited(1, None, 6), ev.PhaseChanged(phase="healing"))
    play.add("faults.rank1", injected("other", rank=1)).add("harness", exited(1))
    assert seen(play) == Symptom(what="aborts_victim", ranks=(1,))
