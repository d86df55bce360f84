"""Page, report, JSON and JUnit print identical figures, and each format is valid."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from starlette.testclient import TestClient

from harness.report import FORMATS, render
from harness.store import RunDirectory
from tests import run_builder as rb
from webapp.app import create_app
from webapp.settings import Settings

MAKERS = {
    "clean": rb.clean_run, "sdc": rb.sdc_run, "straggler": rb.straggler_run,
    "hang": rb.hang_run, "killed": rb.killed_run, "torn": rb.torn_run,
}  # fmt: skip


class Marked(HTMLParser):
    """Collects the text of elements that carry `data-fact` or `data-figure`."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: dict[str, str] = {}
        self.figures: list[tuple[str, str]] = []
        self._open: list[tuple[str, str, str]] = []  # tag, kind, name
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        marks = dict(attrs)
        for kind in ("data-fact", "data-figure"):
            if kind in marks:
                self._open.append((tag, kind, marks[kind] or ""))
                self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            _, kind, name = self._open.pop()
            text = re.sub(r"\s+", " ", self._text).strip()
            if kind == "data-fact":
                self.facts[name] = text
            elif name != "outcome":  # the page adds a glyph to it
                self.figures.append((name, text))


def marked(text: str) -> Marked:
    """The marked figures of a page."""
    parser = Marked()
    parser.feed(text)
    return parser


def page_of(run: RunDirectory) -> str:
    """The run page, as a browser gets it."""
    app = create_app(Settings(runs_root=run.path.parent))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        return client.get(f"/runs/{run.run_id}").text


@pytest.mark.parametrize("kind", MAKERS)
def test_page_report_json_and_junit_show_identical_figures(
    kind: str, tmp_path: Path
) -> None:
    run = MAKERS[kind](tmp_path)
    page, report = marked(page_of(run)), marked(render(run, "html").decode())
    data = json.loads(render(run, "json"))
    junit = ET.fromstring(render(run, "junit"))
    expected = {fact["name"]: fact["text"] for fact in data["facts"]}
    assert page.facts == report.facts == expected
    properties = {p.attrib["name"]: p.attrib["value"] for p in junit.iter("property")}
    assert {name: properties[name] for name in expected} == expected
    assert page.figures == report.figures
    in_json = []
    for card in data["cards"]:
        in_json += [("who", card["headline"]), ("why", card["why"]),
                    ("votes", card["votes_text"]),
                    ("confirmations", card["confirmations_text"])]  # fmt: skip
        if card["statistic"]:
            s = card["statistic"]
            in_json += [("statistic", s["value_text"]),
                        ("threshold", s["threshold_text"]),
                        ("expression", s["expression"])]  # fmt: skip
        in_json.append(("next", card["next_text"]))
    assert [pair for pair in page.figures if pair[0] != "latency"] == in_json


@pytest.mark.parametrize("kind", MAKERS)
def test_the_json_report_is_the_twin_of_the_page(kind: str, tmp_path: Path) -> None:
    run = MAKERS[kind](tmp_path)
    app = create_app(Settings(runs_root=tmp_path))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        twin = client.get(f"/runs/{run.run_id}.json").json()
        exported = client.get(f"/runs/{run.run_id}/report/json").json()
    assert twin == exported == json.loads(render(run, "json"))


@pytest.mark.parametrize("kind", MAKERS)
def test_the_html_report_needs_nothing_but_itself(kind: str, tmp_path: Path) -> None:
    text = render(MAKERS[kind](tmp_path), "html")
    assert len(text) < 5_000_000
    page = text.decode()
    assert page.count('<svg viewBox="0 0 1080') == 4
    # No address that a browser would fetch, and no script at all.
    assert not re.search(r"(src|href)\s*=", page)
    assert "<script" not in page
    assert "url(" not in page


def test_a_long_runs_report_stays_small_and_says_what_it_left_out(
    tmp_path: Path,
) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    builder.start()
    for step in range(1, 501):
        builder.check(step, corrupt=2 if step in (7, 8) else None)
    text = render(builder.close(), "html")
    assert len(text) < 5_000_000
    page = text.decode()
    assert re.sub("<[^>]+>", "", page).count("Shown are 400 of 500 rows") == 1
    assert page.count("✕ rank2</span>") == 2  # the old findings are not what is cut


def cases(run: RunDirectory) -> dict[str, str]:
    """JUnit test cases by name, with how they ended."""
    root = ET.fromstring(render(run, "junit"))
    found = {}
    for case in root.iter("testcase"):
        children = [child.tag for child in case]
        found[case.attrib["name"]] = children[0] if children else "passed"
    suite = root.find("testsuite")
    assert suite is not None
    for word, tag in (
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        assert int(suite.attrib[word]) == list(found.values()).count(tag)
    assert int(suite.attrib["tests"]) == len(found)
    return found


def test_a_passing_run_has_only_passing_cases(tmp_path: Path) -> None:
    assert cases(rb.sdc_run(tmp_path)) == {
        "the run completed and was judged": "passed",
        "sdc.parameter-0 on rank2 fired": "passed",
        "sdc.parameter-0 on rank2 healed": "passed",
        "SDC of rank2, steps 5 to 8": "passed",
        "no verdict beyond what is expected": "passed",
    }


def test_an_extra_verdict_fails_its_own_case_only(tmp_path: Path) -> None:
    found = cases(rb.hang_run(tmp_path))
    assert [name for name, end in found.items() if end != "passed"] == [
        "no verdict beyond what is expected"
    ]


def test_a_killed_run_is_an_error_and_misses_nothing(tmp_path: Path) -> None:
    found = cases(rb.killed_run(tmp_path))
    assert found["the run completed and was judged"] == "error"
    assert found["SDC of rank2, steps 5 to 8"] == "skipped"
    assert "failure" not in (
        found["SDC of rank2, steps 5 to 8"], found["no verdict beyond what is expected"]
    )  # fmt: skip


def test_a_fault_that_never_fired_is_no_miss_of_the_detector(tmp_path: Path) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("sdc"), "20261130-221500-x-0001")
    builder.start()
    builder.step(1)
    found = cases(builder.end(rb.not_injected_results()))
    assert found["sdc.parameter-0 on rank2 fired"] == "failure"
    assert found["SDC of rank2, steps 5 to 8"] == "skipped"


def test_junit_is_utf8_with_a_declaration(tmp_path: Path) -> None:
    text = render(rb.clean_run(tmp_path), "junit")
    assert text.startswith(b"<?xml version='1.0' encoding='utf-8'?>")


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'pdf'; allowed: html, json, junit, "):
        render(rb.clean_run(tmp_path), "pdf")
    assert set(FORMATS) == {"html", "json", "junit", "fabric-csv", "fabric-svg"}
