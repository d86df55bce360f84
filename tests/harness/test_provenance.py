"""What a run was made with is found out without importing it."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from harness import provenance as module
from harness.provenance import UNKNOWN, provenance


def test_versions_and_host_are_those_of_this_machine() -> None:
    made = provenance()
    assert made.versions["python"] == platform.python_version()
    assert made.versions["torch"].startswith("2.13.0")
    assert made.host == platform.node()


def test_a_checkout_has_its_commit() -> None:
    if not (module._SOURCE / ".git").exists():
        pytest.skip("no git checkout")
    assert re.fullmatch(r"[0-9a-f]{40}", provenance().commit)


def test_without_a_checkout_the_commit_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SOURCE", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    made = provenance()
    assert (made.commit, made.dirty) == (UNKNOWN, False)


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert module._version("no-such-package-at-all") == UNKNOWN
