"""A claim compares a value with a baseline and never invents a missing one."""

from __future__ import annotations

import json

import pytest

from benchmarks.claim import Claim, compared


def verdict(value: float, **goal: float) -> bool | None:
    return compared(name="n", value=value, unit="s", baseline=2, note="", **goal).ok


def test_a_ratio_at_the_goal_is_ok_in_either_direction() -> None:
    assert verdict(6, at_least=3) is True
    assert verdict(5.9, at_least=3) is False
    assert verdict(6, at_most=3) is True
    assert verdict(6.1, at_most=3) is False


def test_without_a_baseline_nothing_is_claimed() -> None:
    claim = compared(
        name="n", value=2.0, unit="s", baseline=None, note="not there", at_least=3
    )
    assert json.loads(claim.json_line()) == {
        "name": "n",
        "value": 2.0,
        "unit": "s",
        "baseline": None,
        "ratio": None,
        "goal": ">= 3",
        "ok": None,
        "note": "not there",
    }


def test_without_a_goal_the_ratio_only_informs() -> None:
    assert compared(name="n", value=2.0, unit="s", baseline=4.0, note="b") == Claim(
        name="n",
        value=2.0,
        unit="s",
        baseline=4.0,
        ratio=0.5,
        goal=None,
        ok=None,
        note="b",
    )


def test_two_goals_or_a_baseline_of_zero_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="n has at_least and at_most; allowed: one"):
        compared(
            name="n", value=1, unit="s", baseline=1, note="", at_least=1, at_most=2
        )
    with pytest.raises(ValueError, match=r"n: baseline is 0; allowed: above 0"):
        compared(name="n", value=1, unit="s", baseline=0, note="")
