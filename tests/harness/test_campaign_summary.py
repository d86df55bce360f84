"""The score of a campaign: what counts, what does not, and the exit code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign_summary import Latency, Score, quantile, summarize
from harness.results import Outcome
from tests.harness.case_results import case_result
from vocab.intervals import wilson

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


@given(values=VALUES, q=st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], q: float) -> None:
    assert quantile(values, q) == pytest.approx(np.quantile(values, q))


def test_no_values_have_no_quantile() -> None:
    assert quantile([], 0.5) is None
    with pytest.raises(ValueError, match="q is 2; allowed: 0 to 1"):
        quantile([1.0], 2)


def test_the_whole_score_of_one_kind() -> None:
    results = [
        case_result("1", latencies_s=(2.0,)),
        case_result("2", latencies_s=(4.0,)),
        case_result("3", outcome=Outcome.FAIL, num_found=0, num_false_blames=1,
                    latencies_s=()),
        case_result("4", outcome=Outcome.NOT_INJECTED, num_found=0, latencies_s=()),
    ]  # fmt: skip
    found = summarize(results, num_planned=4)
    assert found.scores[0] == Score(
        kind="hang.frozen",
        num_cases=4,
        num_not_scored=1,
        recall=wilson(2, 3),
        exact=wilson(2, 3),
        false_blames=wilson(1, 3),
        latency=Latency(n=2, p50_s=3.0, p90_s=3.8, p99_s=3.98, max_s=4.0),
    )
    assert found.outcomes == {"fail": 1, "not-injected": 1, "pass": 2}
    assert [line.partition(":")[0] for line in found.not_passed] == ["3", "4"]


def test_kinds_are_scored_apart_and_together() -> None:
    clean = case_result("2", kinds="clean", num_expected=0, num_found=0,
                        latencies_s=())  # fmt: skip
    found = summarize([case_result("1"), clean], num_planned=2)
    assert [(s.kind, s.recall.n, s.exact.n) for s in found.scores] == [
        ("clean", 0, 1),
        ("hang.frozen", 1, 1),
        ("all", 1, 2),
    ]
    assert found.scores[0].recall.value is None  # nothing was to be found: not zero


@pytest.mark.parametrize(
    ("outcomes", "planned", "code"),
    [
        ([Outcome.PASS, Outcome.PASS], 2, 0),
        ([Outcome.PASS], 2, 2),
        ([], 0, 0),
        ([Outcome.PASS, Outcome.INCONCLUSIVE], 2, 2),
        ([Outcome.NOT_INJECTED], 1, 2),
        ([Outcome.CANCELLED], 1, 2),
        ([Outcome.INFRASTRUCTURE, Outcome.INCONCLUSIVE], 2, 3),
        ([Outcome.INFRASTRUCTURE, Outcome.FAIL], 2, 1),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    outcomes: list[Outcome], planned: int, code: int
) -> None:
    results = [case_result(str(i), outcome=o) for i, o in enumerate(outcomes)]
    assert summarize(results, num_planned=planned).exit_code == code
