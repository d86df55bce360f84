"""The public API: everything is there, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spraycheck
from tests.repo.source import ROOT


@pytest.mark.parametrize("name", spraycheck.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(spraycheck, name).__module__.startswith("spraycheck.")


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = spraycheck.nothing


@pytest.mark.parametrize(
    "statement",
    ["import spraycheck", "from spraycheck import LeafController, Monitor, judge"],
)
def test_controller_and_monitor_need_the_standard_library_only(statement: str) -> None:
    code = (
        f"{statement}; import sys; "
        "sys.exit(bool({'numpy', 'numba', 'torch', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
