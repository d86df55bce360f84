"""Pages that list things list all of them, and say nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.scenario import catalogue
from injectors.registry import FAULTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vocab", "scout", "spraycheck", "injectors", "harness", "webapp",
            "benchmarks")  # fmt: skip
WHATS_HERE = (ROOT / "docs" / "whats-here.md").read_text()


def modules() -> list[str]:
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name != "__init__.py":
                found.append(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("module", modules())
def test_every_module_has_its_line_in_whats_here(module: str) -> None:
    assert f"`{module}`" in WHATS_HERE


def test_whats_here_names_no_module_that_is_gone() -> None:
    named = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`", WHATS_HERE)
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_scenario_stands_in_whats_here(name: str) -> None:
    assert f"`{name}`" in WHATS_HERE


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_every_fault_stands_in_the_scenario_format(kind: str) -> None:
    assert kind in (ROOT / "docs" / "scenario-format.md").read_text()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=str)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_two_commands_of_the_readme_are_those_of_the_makefile_and_of_ci() -> None:
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in readme
        assert f"\n{command}: setup" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
