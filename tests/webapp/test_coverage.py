"""The coverage page: every promise with its scenarios, and its JSON twin."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from harness.coverage import COVERAGE
from harness.report import render
from harness.views.coverage import build
from injectors.registry import FAULTS
from tests import run_builder as rb


def test_page_and_twin_have_every_fault_and_every_scenario(client: TestClient) -> None:
    page = client.get("/coverage").text
    twin = client.get("/coverage.json").json()
    assert {row["kind"] for row in twin["rows"]} == set(FAULTS)
    assert 'href="/coverage" aria-current="page"' in page
    for cell in COVERAGE:
        for name in cell.scenarios:
            assert f'href="/launch?scenario={name}">{name}</a>' in page
    for limit in twin["always_outside"]:
        assert limit in page


def test_a_lifetime_that_a_fault_cannot_have_is_not_a_grade() -> None:
    [row] = build(["crash.exit"]).rows
    grades = {cell.lifetime: cell.grade for cell in row.cells}
    assert grades == {
        "one-shot": "localizable",
        "intermittent": None,
        "persistent": None,
    }


def test_the_report_prints_the_promises_for_its_own_faults(
    tmp_path: Path,
) -> None:
    report = render(rb.sdc_run(tmp_path), "html").decode()
    assert "What is promised for these faults" in report
    assert 'data-kind="sdc.parameter"' in report
    assert 'data-kind="crash.exit"' not in report
