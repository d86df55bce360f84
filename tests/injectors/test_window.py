"""When faults strike: by step and seed alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injectors.null import Null
from injectors.window import Window, draw


def window(**fields: Any) -> Window:
    parameters = Null(kind="null", rank=0, **{"at_step": 3, **fields})
    return Window.of(parameters, 7, "fault")


def strikes(made: Window, last: int = 12) -> list[int]:
    return [step for step in range(1, last + 1) if made.strikes(step)]


def test_a_one_shot_strikes_once() -> None:
    made = window(lifetime="one-shot")
    assert strikes(made) == [3]
    assert [made.is_over(step) for step in (2, 3, 4)] == [False, False, True]


def test_a_persistent_fault_strikes_to_the_end_of_its_window() -> None:
    assert strikes(window(until_step=6)) == [3, 4, 5, 6]
    assert strikes(window()) == list(range(3, 13))
    assert not window().is_over(10**9)
    assert window(until_step=6).is_over(7)


@given(
    seed=st.integers(0, 2**31 - 1),
    probability=st.floats(0.01, 0.99),
    at_step=st.integers(1, 50),
    length=st.integers(0, 50),
)
def test_an_intermittent_fault_strikes_inside_its_window_the_same_each_time(
    seed: int, probability: float, at_step: int, length: int
) -> None:
    parameters = Null(
        kind="null", rank=0, at_step=at_step, until_step=at_step + length,
        lifetime="intermittent", probability=probability,
    )  # fmt: skip
    first = Window.of(parameters, seed, "a")
    steps = strikes(first, 120)
    assert all(at_step <= step <= at_step + length for step in steps)
    assert steps == strikes(Window.of(parameters, seed, "a"), 120)


def test_an_intermittent_fault_strikes_about_as_often_as_it_should() -> None:
    made = window(at_step=1, lifetime="intermittent", probability=0.3)
    # 2,000 draws of 0.3: six standard deviations are 123; the seed is fixed.
    assert abs(len(strikes(made, 2000)) - 600) < 123


def test_two_faults_of_one_scenario_strike_independently() -> None:
    fields: dict[str, Any] = {"lifetime": "intermittent", "probability": 0.5}
    parameters = Null(kind="null", rank=0, at_step=1, **fields)
    one, two = Window.of(parameters, 7, "a"), Window.of(parameters, 7, "b")
    assert strikes(one, 64) != strikes(two, 64)


@pytest.mark.parametrize("key", ["7/a/1", ""])
def test_a_draw_depends_on_its_key_alone(key: str) -> None:
    assert draw(key).random() == draw(key).random()
    assert draw(key).random() != draw(key + "x").random()
