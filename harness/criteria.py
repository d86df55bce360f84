"""What a qualification must reach: the criteria that a suite states. Pure.

    criteria:
      recall: {at_least: 0.95}                 # of each fault class
      exact: {at_least: 0.95}                  # of each fault class and the controls
      false_blames_per_hour: {at_most: 1.0}    # in the clean hours of the controls
      localization_s: {at_most: 8.0}           # 90 of 100 verdicts come by then

A part of a campaign file (`harness.campaign`); `harness.qualification` judges by it. By
`interval`, a criterion is met when the whole interval lies on its right side, failed
when the whole interval lies on the wrong one, and inconclusive between: too few cases.
By `estimate`, the figure itself decides: for small suites, which prove less.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

By = Literal["interval", "estimate"]


class Ruling(StrEnum):
    """What a criterion, and all of them together, come to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


EXIT_CODES = {Ruling.PASS: 0, Ruling.FAIL: 1, Ruling.INCONCLUSIVE: 2}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Share(_Strict):
    """A share of cases that must be reached."""

    at_least: float = Field(ge=0, le=1, description="0 to 1")
    by: By = Field("interval", description="the whole interval, or the figure itself")


class Limit(_Strict):
    """A value that must not be passed."""

    at_most: float = Field(ge=0, description="in the unit of the criterion's name")
    by: By = Field("interval", description="the whole interval, or the figure itself")


class Criteria(_Strict):
    """Each holds for every fault class by itself, so that none hides behind another."""

    recall: Share = Field(description="expected incidents that were found exactly")
    exact: Share = Field(description="runs with the expected verdicts, and no other")
    false_blames_per_hour: Limit = Field(
        description="verdicts on somebody innocent, in an hour of the controls"
    )
    localization_s: Limit = Field(
        description="90 of 100 exact verdicts come by then, after injection"
    )
    detection_s: Limit | None = Field(
        None, description="90 of 100 first verdicts of any wording; absent: not judged"
    )
    overhead: Limit | None = Field(
        None, description="time in checks as a share of training; absent: not judged"
    )
    measured: Share = Field(
        Share(at_least=1.0, by="estimate"),
        description="cases that measured something, of all that are planned",
    )


def at_least(limit: Share, value: float | None, low: float | None,
             high: float | None) -> Ruling:  # fmt: skip
    """Whether `value`, known to lie between `low` and `high`, reaches the limit."""
    if value is None:
        return Ruling.INCONCLUSIVE
    if limit.by == "estimate":
        return Ruling.PASS if value >= limit.at_least else Ruling.FAIL
    if low is not None and low >= limit.at_least:
        return Ruling.PASS
    if high is not None and high < limit.at_least:
        return Ruling.FAIL
    return Ruling.INCONCLUSIVE


def at_most(limit: Limit, value: float | None, low: float | None,
            high: float | None) -> Ruling:  # fmt: skip
    """Whether `value`, known to lie between `low` and `high`, keeps the limit."""
    if value is None:
        return Ruling.INCONCLUSIVE
    if limit.by == "estimate":
        return Ruling.PASS if value <= limit.at_most else Ruling.FAIL
    if high is not None and high <= limit.at_most:
        return Ruling.PASS
    if low is not None and low > limit.at_most:
        return Ruling.FAIL
    return Ruling.INCONCLUSIVE


def overall(rulings: list[Ruling]) -> Ruling:
    """The worst of all: one failed criterion fails the whole; nothing judged: open."""
    if Ruling.FAIL in rulings:
        return Ruling.FAIL
    if Ruling.INCONCLUSIVE in rulings or not rulings:
        return Ruling.INCONCLUSIVE
    return Ruling.PASS
