"""Kills are planned by the seed, and a run survives every one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.commands.kills import summarize
from harness.kills import MAX_DELAY_S, TARGETS, Struck, plan_kills, strike
from harness.results import Outcome
from harness.runtime.warm import kept_warm
from harness.scenario import catalogue, load


@given(num=st.integers(1, 60), seed=st.integers(0, 1_000))
def test_the_plan_repeats_and_gives_each_target_its_turn(num: int, seed: int) -> None:
    kills = plan_kills(num, seed)
    assert kills == plan_kills(num, seed)
    assert [kill.number for kill in kills] == list(range(num))
    counts = Counter(kill.target for kill in kills)
    assert all(counts[target] >= num // len(TARGETS) for target in TARGETS)
    assert all(0 <= kill.delay_s <= MAX_DELAY_S for kill in kills)


def struck(number: int, *problems: str) -> Struck:
    return Struck(
        number=number, target="rank", run_id=f"r{number}", is_hit=True,
        outcome=Outcome.FAIL, problems=problems, wall_s=1.0,
    )  # fmt: skip


def test_a_problem_is_counted_and_named() -> None:
    summary = summarize([struck(0), struck(1, "a file is left")], num=2, seed=9)
    assert summary["num_with_problems"] == 1
    assert summary["problems"] == ["r1: a file is left"]


@pytest.mark.jobs
def test_kills_inside_and_outside_the_job_lose_nothing(tmp_path: Path) -> None:
    scenario = load(catalogue()["sdc-parameter"])
    with kept_warm():
        done = [
            strike(kill, scenario, tmp_path / "runs", "sdc-parameter")
            for kill in plan_kills(len(TARGETS), seed=3)
            if kill.target in ("harness", "observer", "server")
        ]
    assert [(item.target, item.problems) for item in done if item.problems] == []
    assert all(item.is_hit for item in done)
