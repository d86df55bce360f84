"""Finished cases of a campaign, for tests."""

from __future__ import annotations

from typing import Any

from harness.campaign_journal import CaseResult
from harness.results import Outcome


def case_result(case_id: str = "a/b/v1/s1", **more: Any) -> CaseResult:
    """A case that passed; `more` says what is different."""
    usual: dict[str, Any] = {
        "case_id": case_id, "part": "a", "kinds": "hang.frozen", "scenario_name": "b",
        "seed": 1, "run_id": "20261130-221500-b-0001", "outcome": Outcome.PASS,
        "reason": "", "num_expected": 1, "num_found": 1, "num_false_blames": 0,
        "latencies_s": (2.5,), "wall_s": 20.0,
    }  # fmt: skip
    return CaseResult(**{**usual, **more})
