"""What a campaign's finished cases say, per kind of fault. Pure.

    recall            expected incidents that were found, exactly
    exact             runs in which everything found was expected, and nothing else
    false blames      runs in which somebody was named whom nobody expected

Called by the `campaign` command. Only runs that measured something count: a fault that
never fired, a cancelled run or a broken machine is listed and never scored (DESIGN
sec. 2.4, 2.5). Every rate carries its Wilson interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.campaign_journal import CaseResult
from harness.results import EXIT_CODES, Outcome
from vocab.intervals import Rate, wilson

SCORED = (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE)
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds from injection to verdict of `n` found incidents; None: there is none."""

    n: int
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    max_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The cases of one kind of fault."""

    kind: str
    num_cases: int
    num_not_scored: int
    recall: Rate
    exact: Rate
    false_blames: Rate
    latency: Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A whole campaign, finished or not."""

    num_planned: int
    num_finished: int
    outcomes: dict[str, int]
    scores: tuple[Score, ...]  # by kind; `all` last
    not_passed: tuple[str, ...]  # case ids with outcome and reason

    @property
    def exit_code(self) -> int:
        """Of the worst outcome; 2 also while cases are missing."""
        for outcome in (Outcome.FAIL, Outcome.INFRASTRUCTURE, Outcome.INCONCLUSIVE,
                        Outcome.NOT_INJECTED, Outcome.CANCELLED):  # fmt: skip
            if self.outcomes.get(outcome.value):
                return EXIT_CODES[outcome]
        if self.num_finished < self.num_planned:
            return EXIT_CODES[Outcome.INCONCLUSIVE]
        return EXIT_CODES[Outcome.PASS]


def summarize(results: Iterable[CaseResult], *, num_planned: int) -> Summary:
    """Score the finished cases."""
    found = list(results)
    kinds = sorted({item.kinds for item in found})
    outcomes: dict[str, int] = {}
    for item in found:
        outcomes[item.outcome.value] = outcomes.get(item.outcome.value, 0) + 1
    scores = [_score(kind, [r for r in found if r.kinds == kind]) for kind in kinds]
    return Summary(
        num_planned=num_planned,
        num_finished=len(found),
        outcomes=dict(sorted(outcomes.items())),
        scores=(*scores, _score(ALL, found)),
        not_passed=tuple(
            f"{item.case_id}: {item.outcome.value}: {item.reason} ({item.run_id})"
            for item in found
            if item.outcome is not Outcome.PASS
        ),
    )


def quantile(values: Sequence[float], q: float) -> float | None:
    """The `q` quantile, linear between the two nearest values; None of no values.

    Raises:
        ValueError: q is outside 0..1.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q is {q}; allowed: 0 to 1")
    if not values:
        return None
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))


def _score(kind: str, results: Sequence[CaseResult]) -> Score:
    scored = [item for item in results if item.outcome in SCORED]
    latencies = [seconds for item in scored for seconds in item.latencies_s]
    return Score(
        kind=kind,
        num_cases=len(results),
        num_not_scored=len(results) - len(scored),
        recall=wilson(
            sum(item.num_found for item in scored),
            sum(item.num_expected for item in scored),
        ),
        exact=wilson(sum(r.outcome is Outcome.PASS for r in scored), len(scored)),
        false_blames=wilson(sum(r.num_false_blames > 0 for r in scored), len(scored)),
        latency=Latency(
            n=len(latencies),
            p50_s=quantile(latencies, 0.5),
            p90_s=quantile(latencies, 0.9),
            p99_s=quantile(latencies, 0.99),
            max_s=max(latencies, default=None),
        ),
    )
