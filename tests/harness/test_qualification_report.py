"""Every format says the same figures, and is what it claims to be."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pypdf
import pytest

from harness.qualification import Qualification
from harness.qualification_report import FORMATS, write_all
from tests.harness.played_suite import PlayedRuns, qualified
from tests.harness.test_qualification import BLAMES

Figures = set[tuple[str, str, str]]  # (fault class, figure, its words)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Qualification:
    return qualified(tmp_path_factory.mktemp("suite"), PlayedRuns(BLAMES))


def made(report: Qualification, name: str) -> bytes:
    return FORMATS[name].make(report)


def figures_of(report: Qualification) -> Figures:
    return {(row.name, item.name, item.text)
            for row in report.classes for item in row.figures}  # fmt: skip


def in_html(report: Qualification) -> Figures:
    found = set()
    text = made(report, "html").decode()
    for row in re.findall(r'<tr data-class="[^"]*">.*?</tr>', text, re.DOTALL):
        name = re.findall(r'data-class="([^"]*)"', row)[0]
        cells = re.findall(r'<td[^>]* data-figure="([^"]*)">([^<]*)</td>', row)
        found |= {(name, figure, html.unescape(words)) for figure, words in cells}
    return found


def in_csv(report: Qualification) -> Figures:
    rows = csv.DictReader(io.StringIO(made(report, "csv").decode()))
    return {(row["subject"], row["name"], row["text"]) for row in rows
            if row["line"] == "figure"}  # fmt: skip


def in_json(report: Qualification) -> Figures:
    data = json.loads(made(report, "json"))
    return {(row["name"], item["name"], item["text"])
            for row in data["classes"] for item in row["figures"]}  # fmt: skip


def in_junit(report: Qualification) -> Figures:
    root = ET.fromstring(made(report, "junit"))
    return {
        (suite.attrib["name"], name.removeprefix("figure."), item.attrib["value"])
        for suite in root
        for item in suite.iter("property")
        if (name := item.attrib["name"]).startswith("figure.")
    }


def in_ctrf(report: Qualification) -> Figures:
    figures = json.loads(made(report, "ctrf"))["results"]["extra"]["figures"]
    return {(row, name, item["text"]) for row, items in figures.items()
            for name, item in items.items()}  # fmt: skip


def in_ocp(report: Qualification) -> Figures:
    steps: dict[str, str] = {}
    found = set()
    labels = {item.label: item.name for item in report.classes[0].figures}
    for line in made(report, "ocp").splitlines():
        step = json.loads(line).get("testStepArtifact", {})
        if "testStepStart" in step:
            steps[step["testStepId"]] = step["testStepStart"]["name"]
        elif "measurement" in step:
            item = step["measurement"]
            where = steps[step["testStepId"]]
            found.add((where, item["name"], item["metadata"]["text"]))
        elif "log" in step:
            label, _, words = step["log"]["message"].partition(": ")
            if label in labels:
                found.add((steps[step["testStepId"]], labels[label], words))
    return found


def in_trace(report: Qualification) -> Figures:
    told = json.loads(made(report, "trace"))["otherData"]
    names = [row.name for row in report.classes]
    return {
        (row, key.removeprefix(f"{row}."), words)
        for key, words in told.items()
        for row in names
        if key.startswith(f"{row}.")
    }


@pytest.mark.parametrize(
    "read", [in_html, in_csv, in_json, in_junit, in_ctrf, in_ocp, in_trace]
)
def test_every_format_prints_the_very_same_figures(
    report: Qualification, read: Callable[[Qualification], Figures]
) -> None:
    assert read(report) == figures_of(report)


def test_the_pdf_prints_every_figure_and_judgement(report: Qualification) -> None:
    reader = pypdf.PdfReader(io.BytesIO(made(report, "pdf")))
    text = "".join("".join(page.extract_text().split()) for page in reader.pages)
    told = [item.text for row in report.classes for item in row.figures]
    told += [item.limit_text for item in report.judgements]
    told += [report.reason, report.command, report.commit, report.ruling.value.upper()]
    told += [case.case_id for case in report.cases]
    assert [words for words in told if "".join(words.split()) not in text] == []
    assert "■" not in text
    assert made(report, "pdf") == made(report, "pdf")  # the same bytes each time


def test_the_html_needs_no_network_and_no_script(report: Qualification) -> None:
    page = made(report, "html").decode()
    assert not re.search(r"<script|(?:src|href)=|@import|url\(", page)
    assert "@media print" in page
    assert len(page) < 10_000_000


def test_the_csv_runs_no_formula_in_a_spreadsheet(report: Qualification) -> None:
    evil = dataclasses.replace(report, reason="=cmd|' /C calc'!A0")
    first = next(csv.DictReader(io.StringIO(made(evil, "csv").decode())))
    assert first["text"] == "'=cmd|' /C calc'!A0"


def test_junit_counts_what_it_lists(report: Qualification) -> None:
    root = ET.fromstring(made(report, "junit"))
    assert [suite.attrib["name"] for suite in root] == [
        "criteria", "sdc.parameter", "controls",
    ]  # fmt: skip
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        failures = suite.findall("testcase/failure")
        assert int(suite.attrib["failures"]) == len(failures)
    assert [len(suite.findall("testcase/failure")) for suite in root] == [1, 2, 1]


def test_the_trace_has_a_span_for_each_run_and_each_fault(
    report: Qualification,
) -> None:
    events = json.loads(made(report, "trace"))["traceEvents"]
    spans = [e["cat"] for e in events if e["ph"] == "X"]
    assert (spans.count("run"), spans.count("fault")) == (11, 8)
    assert sum(e["ph"] == "i" for e in events) == 8  # verdicts
    for event in events:
        assert {"ph", "name", "pid", "tid", "ts"} <= set(event)
        assert event["ts"] >= 0
        assert event.get("dur", 0) >= 0


def test_all_formats_and_the_evidence_are_written_into_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "out").mkdir()
    report = qualified(tmp_path)
    written = write_all(report, tmp_path / "out")
    assert [path.name for path in written] == [
        "report.html", "report.pdf", "report.json", "report.csv", "report.junit.xml",
        "report.ctrf.json", "report.ocp.jsonl", "report.trace.json", "report.zip",
    ]  # fmt: skip
    assert all(path.stat().st_size > 0 for path in written)


def lines_of(report: Qualification) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made(report, "ocp").splitlines()]


def test_ocp_lines_are_numbered_and_framed_as_the_specification_says(
    report: Qualification,
) -> None:
    lines = lines_of(report)
    assert [line["sequenceNumber"] for line in lines] == list(range(len(lines)))
    assert lines[0]["schemaVersion"] == {"major": 2, "minor": 0}
    assert "testRunStart" in lines[1]["testRunArtifact"]
    end = lines[-1]["testRunArtifact"]["testRunEnd"]
    assert end == {"status": "COMPLETE", "result": "FAIL"}
    steps = [line["testStepArtifact"] for line in lines[2:-1]]
    opened = [s["testStepId"] for s in steps if "testStepStart" in s]
    closed = [s["testStepId"] for s in steps if "testStepEnd" in s]
    assert opened == closed == ["step0", "step1", "step2"]
