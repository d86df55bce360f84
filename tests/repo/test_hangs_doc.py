"""The picture and the page of the hang classification say what the code says."""

from __future__ import annotations

import ast
import re
from xml.etree import ElementTree as ET

import pytest

from scout import hang
from tests.repo.source import ROOT, modules

PICTURE = ROOT / "docs" / "hang-classification.svg"
PAGE = ROOT / "docs" / "hangs.md"
SVG = "{http://www.w3.org/2000/svg}"
_CODE = re.compile(r"[a-z]+(?:_[a-z]+)+\Z")


def reason_codes() -> set[str]:
    """Every reason code of the rules: their only texts in this spelling."""
    return {
        node.value
        for path, tree in modules("scout").items()
        if path.endswith("_rule.py") or path == "scout/flight_recorder.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _CODE.match(node.value)
    }


def codes_in_picture() -> set[str]:
    found = set()
    for element in ET.parse(PICTURE).iter():
        if element.get("class") == "code":
            found |= {word.strip() for word in (element.text or "").split("·")}
    return found


def codes_in_page() -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))


def test_the_rules_have_reason_codes() -> None:
    assert {"rank_behind", "collective_mismatch", "process_died"} <= reason_codes()


@pytest.mark.parametrize("found", [codes_in_picture, codes_in_page])
def test_every_reason_code_is_told_and_no_other(found: object) -> None:
    assert callable(found)
    assert found() == reason_codes()


def test_the_picture_asks_as_many_questions_as_there_are_rules() -> None:
    numbers = [
        element.text
        for element in ET.parse(PICTURE).iter(f"{SVG}text")
        if element.get("class") == "number"
    ]
    num_rules = len(hang._RULES) + 1  # and `level`, which always answers
    assert numbers == [str(number) for number in range(1, num_rules + 1)]


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    text = PICTURE.read_text()
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"href|url\((?!#)|<script|<image|@import", text)


def test_the_page_shows_the_picture() -> None:
    assert f"]({PICTURE.name})" in PAGE.read_text()
