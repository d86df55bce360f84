"""Hold every fault class against the criteria of its suite. Pure.

Called by `harness.qualification`. Classes are judged one by one, so that a class of
many easy cases hides none of few hard ones. Where nothing is promised (every incident
of a class lies outside the coverage), recall and latency are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.campaign_journal import CaseResult
from harness.campaign_summary import SCORED
from harness.criteria import Criteria, Limit, Ruling, Share, at_least, at_most
from harness.qualification_figures import ClassRow, Figure, percent
from harness.suite_record import CONTROLS
from harness.views import wording
from vocab.intervals import wilson

ALL_CASES = "all cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One criterion, held against one fault class."""

    criterion: str  # its name in the suite
    subject: str  # fault class, controls, or all cases
    label: str
    limit: float
    limit_text: str
    figure_text: str
    by: str  # interval or estimate
    ruling: Ruling
    cases: tuple[str, ...]  # that speak against it


def judge(
    criteria: Criteria,
    classes: Sequence[ClassRow],
    num_planned: int,
    done: Mapping[str, CaseResult],
) -> tuple[Judgement, ...]:
    """Every criterion on everything that it applies to, the worst first."""
    found = [*_measured(criteria.measured, num_planned, done)]
    for row in classes:
        found += _on_class(criteria, row)
    order = (Ruling.FAIL, Ruling.INCONCLUSIVE, Ruling.PASS)
    return tuple(sorted(found, key=lambda item: order.index(item.ruling)))


def _on_class(criteria: Criteria, row: ClassRow) -> Iterator[Judgement]:
    is_controls = row.name == CONTROLS
    if row.num_promised:
        yield _share("recall", criteria.recall, row, row.figure("recall"))
    yield _share("exact", criteria.exact, row, row.figure("exact"))
    if is_controls:
        limit = criteria.false_blames_per_hour
        figure = row.figure("false_blames_per_hour")
        yield _limit("false_blames_per_hour", limit, row, figure)
    limits = (
        ("detection_s", criteria.detection_s, "detection_p90_s"),
        ("localization_s", criteria.localization_s, "localization_p90_s"),
    )
    for name, wanted, key in limits:
        if wanted is not None and row.num_promised:
            yield _limit(name, wanted, row, row.figure(key))
    if criteria.overhead is not None and is_controls:
        yield _limit("overhead", criteria.overhead, row, row.figure("overhead"))


def _share(name: str, limit: Share, row: ClassRow, figure: Figure) -> Judgement:
    return Judgement(
        criterion=name, subject=row.name, label=figure.label, limit=limit.at_least,
        limit_text=_at_least_text(limit), figure_text=figure.text, by=limit.by,
        ruling=at_least(limit, figure.value, figure.low, figure.high),
        cases=figure.against,
    )  # fmt: skip


def _limit(name: str, limit: Limit, row: ClassRow, figure: Figure) -> Judgement:
    shown = {
        "s": wording.seconds(limit.at_most),
        "share": f"{100 * limit.at_most:.4g} %",
        "1/h": f"{limit.at_most:.4g} per hour",
    }[figure.unit]
    return Judgement(
        criterion=name, subject=row.name, label=figure.label, limit=limit.at_most,
        limit_text=f"at most {shown} by {limit.by}", figure_text=figure.text,
        by=limit.by, ruling=at_most(limit, figure.value, figure.low, figure.high),
        cases=figure.against,
    )  # fmt: skip


def _measured(
    limit: Share, num_planned: int, done: Mapping[str, CaseResult]
) -> Iterator[Judgement]:
    """What measured nothing proves nothing: it leaves open, and fails no detector.

    A fault that never struck or a broken machine is no miss (DESIGN sec. 2.4).
    """
    num = sum(item.outcome in SCORED for item in done.values())
    rate = wilson(num, num_planned)
    ruling = at_least(limit, rate.value, rate.low, rate.high)
    yield Judgement(
        criterion="measured", subject=ALL_CASES, label="Cases that measured something",
        limit=limit.at_least, limit_text=_at_least_text(limit),
        figure_text=f"{percent(num / num_planned)} % "
        f"({wording.k_of_n(num, num_planned)})",
        by=limit.by, ruling=Ruling.PASS if ruling is Ruling.PASS
        else Ruling.INCONCLUSIVE,
        cases=tuple(item.case_id for item in done.values()
                    if item.outcome not in SCORED),
    )  # fmt: skip


def _at_least_text(limit: Share) -> str:
    return f"at least {100 * limit.at_least:.4g} % by {limit.by}"
