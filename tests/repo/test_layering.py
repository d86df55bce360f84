"""Imports go one way, and detectors know nothing of faults (DESIGN sec. 2.3, 2.4)."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.repo.source import PACKAGES, ROOT, imported, modules

MAY_IMPORT = {
    "vocab": set(),
    "scout": {"vocab"},
    "spraycheck": {"vocab"},
    "injectors": {"vocab"},
    "harness": {"vocab", "scout", "spraycheck", "injectors"},
    "webapp": {"vocab", "scout", "spraycheck", "injectors", "harness"},
    "benchmarks": {"vocab", "scout", "spraycheck", "injectors", "harness"},
}
# The command line is the one place that starts everything else.
EXCEPT = {
    ("harness/commands/serve.py", "webapp"),
    ("harness/commands/bench.py", "benchmarks"),
}
DETECTORS = ("scout", "spraycheck")
TRUTH = {"FaultTriggered", "FaultInjected", "FaultHealed", "FaultFailed", "injected"}


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package: str) -> None:
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules(package).items()
        for name in imported(tree)
        if (top := name.partition(".")[0]) in PACKAGES
        and top not in MAY_IMPORT[package] | {package}
        and (path, top) not in EXCEPT
    ]
    assert wrong == []


def test_no_exception_is_left_over() -> None:
    used = {
        (path, name.partition(".")[0])
        for path, tree in modules("harness").items()
        for name in imported(tree)
    }
    assert used >= EXCEPT


def test_only_the_command_line_imports_the_commands() -> None:
    importers = {
        path
        for package in PACKAGES
        for path, tree in modules(package).items()
        if any(name.startswith("harness.commands") for name in imported(tree))
    }
    outside = {path for path in importers if not path.startswith("harness/commands/")}
    assert outside == {"harness/cli.py"}


def test_vocab_needs_the_standard_library_only() -> None:
    used = {
        name.partition(".")[0]
        for tree in modules("vocab").values()
        for name in imported(tree)
    }
    assert used - {"vocab"} <= sys.stdlib_module_names


@pytest.mark.parametrize("package", DETECTORS)
def test_detectors_do_not_know_what_was_injected(package: str) -> None:
    known = [
        f"{path}:{node.lineno} {name}"
        for path, tree in modules(package).items()
        for node in ast.walk(tree)
        if (name := _name_of(node)) in TRUTH
    ]
    assert known == []


@pytest.mark.parametrize("package", DETECTORS)
def test_detectors_never_read_a_file_of_faults(package: str) -> None:
    readers = [
        f"{path}:{node.lineno}"
        for path, tree in modules(package).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("faults.")
    ]
    assert readers == []


@pytest.mark.parametrize(
    "statement",
    [
        "import scout",
        "import scout.config, scout.decide",
        "import harness.cli",
        "import harness.run, harness.watch, harness.checks, harness.index",
        "import webapp.app",
        "import benchmarks.registry",
        "import injectors.registry",
    ],
)
def test_torch_is_imported_by_ranks_only(statement: str) -> None:
    code = f"{statement}; import sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_what_a_run_imports_before_its_zygote_is_little() -> None:
    """Everything heavier waits until torch is being imported in the other process."""
    code = (
        "import harness.run, sys\n"
        "print([m for m in ('pydantic', 'yaml', 'sqlalchemy', 'numpy') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_importing_starts_nothing() -> None:
    """No thread, no child process and no new file descriptor after all imports."""
    names = [
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for package in ("vocab", "injectors", "harness", "webapp", "benchmarks")
        for path in modules(package)
        if "/workloads/" not in path
    ]
    code = (
        "import importlib, os, sys, threading\n"
        "before = set(os.listdir('/proc/self/fd'))\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "opened = set(os.listdir('/proc/self/fd')) - before\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
        "assert not opened, opened\n"
    )
    subprocess.run([sys.executable, "-c", code, *names], cwd=ROOT, check=True)


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.alias):
        return node.name
    return None
