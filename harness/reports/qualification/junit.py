"""A qualification as JUnit XML: criteria, then a suite a fault class. Pure.

A case that measured nothing is an error, not a failure: it is no miss of the detector
(DESIGN sec. 2.4). What is inconclusive or has not run is skipped.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from harness.criteria import Ruling
from harness.qualification import CaseRow, Qualification
from harness.qualification_figures import ClassRow
from harness.reports.junit import clean

_CASES = {
    "fail": "failure",
    "infrastructure-error": "error",
    "not-injected": "error",
    "cancelled": "error",
    "inconclusive": "skipped",
    "planned": "skipped",
}
_RULINGS = {Ruling.FAIL: "failure", Ruling.INCONCLUSIVE: "skipped"}


def render(report: Qualification) -> bytes:
    """The report as UTF-8 XML."""
    root = ET.Element("testsuites", name=clean(report.title))
    criteria = _suite(root, "criteria", report)
    for item in report.judgements:
        name = f"{item.subject}: {item.label} {item.limit_text}"
        _case(criteria, "criteria", name, _RULINGS.get(item.ruling), item.figure_text)
    _count(criteria)
    for row in report.classes:
        suite = _suite(root, row.name, report, row)
        for case in report.cases:
            if case.fault_class == row.name:
                _run(suite, row, case)
        _count(suite)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(
    root: ET.Element, name: str, report: Qualification, row: ClassRow | None = None
) -> ET.Element:
    suite = ET.SubElement(
        root, "testsuite", name=clean(name), timestamp=report.created.removesuffix("Z"),
        hostname=report.host or "unknown",
    )  # fmt: skip
    properties = ET.SubElement(suite, "properties")
    pairs = {
        "command": report.command,
        "commit": report.commit,
        "plan": report.digest,
        "ruling": f"{report.ruling.value}: {report.reason}",
        **{f"version.{name}": version for name, version in report.versions.items()},
    }
    if row is not None:
        pairs = {f"figure.{item.name}": item.text for item in row.figures}
    for name, value in pairs.items():
        ET.SubElement(properties, "property", name=name, value=clean(value))
    return suite


def _run(suite: ET.Element, row: ClassRow, case: CaseRow) -> None:
    message = f"{case.status}: {case.reason}"
    element = _case(suite, row.name, case.case_id, _CASES.get(case.status), message)
    if case.wall_s is not None:
        element.set("time", f"{case.wall_s:.3f}")


def _case(
    suite: ET.Element, classname: str, name: str, trouble: str | None, message: str
) -> ET.Element:
    element = ET.SubElement(
        suite, "testcase", classname=clean(classname), name=clean(name)
    )
    if trouble is not None:
        ET.SubElement(element, trouble, message=clean(message))
    return element


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for plural, name in (("failures", "failure"), ("errors", "error"),
                         ("skipped", "skipped")):  # fmt: skip
        suite.set(plural, str(len(suite.findall(f"testcase/{name}"))))
    times = [float(case.get("time", "0")) for case in suite.findall("testcase")]
    suite.set("time", f"{sum(times):.3f}")
