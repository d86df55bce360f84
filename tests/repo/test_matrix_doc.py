"""docs/matrix.md against the case list that it describes."""

from __future__ import annotations

import re
from collections import Counter

from harness.sdc_matrix import matrix_cases
from tests.repo.source import ROOT

PAGE = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")
_ROW = re.compile(r"(?m)^\| ([a-z ]+) \| `sdc\..* \| (\d+) \|$")


def test_the_page_says_how_many_cases_each_surface_has() -> None:
    counted = Counter(case.surface for case in matrix_cases(1))
    assert {name: int(number) for name, number in _ROW.findall(PAGE)} == counted


def test_its_pictures_are_there() -> None:
    for name in re.findall(r"\]\((images/\S+)\)", PAGE):
        assert (ROOT / "docs" / name).is_file(), name
