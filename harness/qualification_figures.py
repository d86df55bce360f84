"""The figures of one fault class: value, interval, words, and the cases behind. Pure.

    recall             expected incidents that were found, exactly         Wilson
    exact              runs with the expected verdicts, and no other       Wilson
    false blames       verdicts on somebody innocent, per clean hour       exact Poisson
    latencies          p50 and p90 of detection and of localization        bootstrap
    overhead           seconds in checks per second of training            bootstrap

Called by `harness.qualification`. Only runs that measured something count (DESIGN 2.4).
A bootstrap of no false blame would have no width, hence the Poisson interval. In a
fault class, a false blame during the fault counts against the time without one: the
rate is never flattered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.campaign_journal import CaseResult
from harness.campaign_summary import SCORED
from harness.resampling import Estimate, quantile, ratio
from harness.results import Outcome
from harness.suite_record import PlannedCase
from harness.views import wording
from vocab.intervals import EventRate, Rate, poisson, wilson

LABELS = {
    "recall": "Recall",
    "exact": "Exact localization",
    "false_blames_per_hour": "False blames per clean hour",
    "detection_p50_s": "Detection, median",
    "detection_p90_s": "Detection, 90 %",
    "localization_p50_s": "Localization, median",
    "localization_p90_s": "Localization, 90 %",
    "overhead": "Overhead",
}
WILSON, POISSON, BOOTSTRAP = "Wilson", "exact Poisson", "bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure, as every format prints it; None where nothing was measured."""

    name: str  # a key of LABELS
    label: str
    value: float | None
    low: float | None
    high: float | None
    unit: str  # share, 1/h, s
    n: int  # what it rests on: incidents, runs, verdicts, false blames
    interval: str  # how low and high were found
    confidence: float
    text: str
    cases: tuple[str, ...]  # behind it
    against: tuple[str, ...]  # those of them that speak against the detector


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """One fault class, or the controls."""

    name: str
    num_cases: int
    num_done: int
    num_not_measured: int  # of the done
    num_promised: int  # incidents that must be found, in all its cases
    clean_hours: float | None
    figures: tuple[Figure, ...]  # in the order of LABELS

    def figure(self, name: str) -> Figure:
        """The figure of that name."""
        return next(figure for figure in self.figures if figure.name == name)


def class_row(
    name: str, cases: Sequence[PlannedCase], done: Mapping[str, CaseResult]
) -> ClassRow:
    """Score the cases of one class that have run."""
    results = [done[case.case_id] for case in cases if case.case_id in done]
    scored = [item for item in results if item.outcome in SCORED]
    hours = _clean_hours(scored)
    return ClassRow(
        name=name,
        num_cases=len(cases),
        num_done=len(results),
        num_not_measured=len(results) - len(scored),
        num_promised=sum(case.promises for case in cases),
        clean_hours=hours,
        figures=(
            _recall(scored),
            _exact(scored),
            _false_blames(scored, hours),
            *_latencies(scored),
            _overhead(scored),
        ),
    )


def _clean_hours(scored: Sequence[CaseResult]) -> float | None:
    times = [item.measures.clean_s for item in scored
             if item.measures and item.measures.clean_s is not None]  # fmt: skip
    return sum(times) / 3600 if times else None


def _recall(scored: Sequence[CaseResult]) -> Figure:
    behind = [item for item in scored if item.num_expected]
    rate = wilson(sum(item.num_found for item in behind),
                  sum(item.num_expected for item in behind))  # fmt: skip
    missed = [item for item in behind if item.num_found < item.num_expected]
    return _share("recall", rate, behind, missed)


def _exact(scored: Sequence[CaseResult]) -> Figure:
    wrong = [item for item in scored if item.outcome is not Outcome.PASS]
    rate = wilson(len(scored) - len(wrong), len(scored))
    return _share("exact", rate, scored, wrong)


def _false_blames(scored: Sequence[CaseResult], hours: float | None) -> Figure:
    guilty = [item for item in scored if item.num_false_blames]
    number = sum(item.num_false_blames for item in scored)
    rate = poisson(number, hours or 0.0)
    return Figure(
        name="false_blames_per_hour", label=LABELS["false_blames_per_hour"],
        value=rate.value, low=rate.low, high=rate.high, unit="1/h", n=number,
        interval=POISSON, confidence=rate.confidence, text=_rate_text(rate),
        cases=_ids(scored), against=_ids(guilty),
    )  # fmt: skip


def _latencies(scored: Sequence[CaseResult]) -> Iterator[Figure]:
    for field in ("detection", "localization"):
        behind = {
            item: getattr(item.measures, f"{field}_s")
            for item in scored
            if item.measures is not None and getattr(item.measures, f"{field}_s")
        }
        values = [value for times in behind.values() for value in times]
        for percent in (50, 90):
            found = quantile(values, percent / 100)
            late = [
                item
                for item, times in behind.items()
                if found.value is not None and max(times) > found.value
            ]
            yield _estimated(f"{field}_p{percent}_s", found, "s", list(behind), late)


def _overhead(scored: Sequence[CaseResult]) -> Figure:
    behind = {
        item: (item.measures.checks_s, item.measures.training_s)
        for item in scored
        if item.measures and item.measures.checks_s is not None
        and item.measures.training_s
    }  # fmt: skip
    pairs = [(checks, training) for checks, training in behind.values()
             if checks is not None and training is not None]  # fmt: skip
    found = ratio([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    return _estimated("overhead", found, "share", list(behind), [])


def _share(
    name: str, rate: Rate, behind: Sequence[CaseResult], wrong: Sequence[CaseResult]
) -> Figure:
    return Figure(
        name=name, label=LABELS[name], value=rate.value, low=rate.low, high=rate.high,
        unit="share", n=rate.n, interval=WILSON, confidence=rate.confidence,
        text=_share_text(rate), cases=_ids(behind), against=_ids(wrong),
    )  # fmt: skip


def _estimated(
    name: str, found: Estimate, unit: str, behind: Sequence[CaseResult],
    late: Sequence[CaseResult],
) -> Figure:  # fmt: skip
    return Figure(
        name=name, label=LABELS[name], value=found.value, low=found.low,
        high=found.high, unit=unit, n=found.n, interval=BOOTSTRAP,
        confidence=found.confidence, text=_estimate_text(found, unit),
        cases=_ids(behind), against=_ids(late),
    )  # fmt: skip


def _ids(results: Sequence[CaseResult]) -> tuple[str, ...]:
    return tuple(item.case_id for item in results)


def _share_text(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return wording.ABSENT
    return (f"{percent(rate.value)} % ({wording.k_of_n(rate.k, rate.n)}; "
            f"{percent(rate.low)} to {percent(rate.high)} %)")  # fmt: skip


def _rate_text(rate: EventRate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return wording.ABSENT
    value, low, high = map(wording.number, (rate.value, rate.low, rate.high))
    hours = wording.number(rate.exposure)
    return f"{value} per hour ({rate.k} in {hours} h; {low} to {high})"


def _estimate_text(found: Estimate, unit: str) -> str:
    if found.value is None:
        return wording.ABSENT
    if unit == "s":
        show = wording.seconds
    else:

        def show(value: float | None) -> str:
            return wording.ABSENT if value is None else f"{percent(value)} %"

    if found.low is None:
        return f"{show(found.value)} (n = {found.n}, no interval)"
    return (f"{show(found.value)} (n = {found.n}; {show(found.low)} to "
            f"{show(found.high)})")  # fmt: skip


def percent(share: float) -> str:
    """A share as per cent, one decimal; never rounded up to certainty.

    99.96 % is `99.9`, so that 100.0 always means all.
    """
    text = f"{100 * share:.1f}"
    if text == "100.0" and share < 1:
        return "99.9"
    return "0.1" if text == "0.0" and share > 0 else text
