"""Files and functions stay small, and say what they are for (STYLE 1, 2, 26)."""

from __future__ import annotations

import ast

import pytest

from tests.repo.source import PACKAGES, ROOT, functions, modules

MAX_LINES = 450  # STYLE 2 aims at 200
MAX_STATEMENTS = 40  # a constructor call with many keywords is one statement
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("package", PACKAGES)
def test_files_are_short(package: str) -> None:
    long = {
        path: number
        for path in modules(package)
        if (number := len((ROOT / path).read_text().splitlines())) > MAX_LINES
    }
    assert long == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_are_short(package: str) -> None:
    long = [
        f"{path}:{node.lineno} {node.name}: {number} statements"
        for path, tree in modules(package).items()
        for node in functions(tree)
        if (number := _num_statements(node)) > MAX_STATEMENTS
    ]
    assert long == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_and_public_name_has_a_docstring(package: str) -> None:
    silent = []
    for path, tree in modules(package).items():
        if not ast.get_docstring(tree) and tree.body:
            silent.append(path)
        silent += [
            f"{path}:{node.lineno} {node.name}"
            for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
        ]
    assert silent == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_a_kitchen_sink(package: str) -> None:
    stems = {path.rpartition("/")[2].removesuffix(".py") for path in modules(package)}
    assert not stems & VAGUE


def _num_statements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) - 1
