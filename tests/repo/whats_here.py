"""Rewrite docs/whats-here.md from docstrings: `python -m tests.repo.whats_here`.

A module's line is the first sentence of its docstring, a scenario's its title.
Headings, and the lines of the last section, stay as they are.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from harness.scenario import catalogue, load

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "whats-here.md"


def rewritten(page: str) -> str:
    """The page with its listings made anew."""
    parts = re.split(r"(?m)^(?=## )", page)
    return "".join([parts[0], *(_section(part) for part in parts[1:-1]), parts[-1]])


def _section(part: str) -> str:
    heading, _, _ = part.partition("\n")
    name = heading.removeprefix("## ").split(" ")[0]
    lines = _scenarios() if name == "scenarios" else _modules(name)
    return "\n".join([heading, "", *lines, "", ""])


def _modules(package: str) -> list[str]:
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        if path.name != "__init__.py":
            name = path.relative_to(ROOT).as_posix()
            found.append(f"- `{name}` — {_first_sentence(path)}")
    return found


def _first_sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.removesuffix(".")


def _scenarios() -> list[str]:
    return [
        f"- `{name}` — {load(path).title}" for name, path in sorted(catalogue().items())
    ]


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
