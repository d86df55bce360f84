"""A list of runs says how each ended and who was found."""

from __future__ import annotations

from pathlib import Path

from harness.store import Store
from harness.views.listing import rows
from tests import run_builder as rb


def test_rows_tell_passed_failed_and_killed_apart(tmp_path: Path) -> None:
    for make in (rb.clean_run, rb.sdc_run, rb.hang_run, rb.killed_run):
        make(tmp_path)
    found = [
        (row.state, row.outcome_text, row.found) for row in rows(Store(tmp_path).runs())
    ]
    assert found == [
        ("killed", "not judged", ""),
        ("ended", "fail", "hang of rank3, hang of rank0"),
        ("ended", "pass", "SDC of rank2"),
        ("ended", "pass", "nobody"),
    ]
