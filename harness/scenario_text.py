"""A scenario's text: YAML to plain data, with the place of every field kept.

Called by `scenario.load` and `parse`. Knows nothing of what a scenario means; it says
where things stand, refuses doubled keys, and applies `--set a.b=c`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from harness import yaml_bounds
from harness.errors import Flaw, ScenarioError

Path = tuple[str | int, ...]
SETTING = "--set"


@dataclass(slots=True)
class Source:
    """Where each field stands: in a line of `file`, or on the command line."""

    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    settings: dict[Path, str] = field(default_factory=dict)  # path to "a.b=c"

    def knows(self, path: Path) -> bool:
        """Whether the user wrote this very field."""
        return path in self.lines or path in self.settings

    def flaw(
        self, path: Path, message: str, value: str = "", allowed: str = ""
    ) -> Flaw:
        """A flaw at a field, or at the nearest thing around it that was written."""
        dotted = ".".join(str(part) for part in path) or "scenario"
        file, line = self._place(path)
        return Flaw(
            file=file, line=line, field=dotted, value=value, allowed=allowed,
            message=message,
        )  # fmt: skip

    def _place(self, path: Path) -> tuple[str, int | None]:
        here = path
        while True:
            if here in self.settings:
                return f"{SETTING} {self.settings[here]}", None
            if here in self.lines or not here:
                return self.file, self.lines.get(here)
            here = here[:-1]


def compose(text: str, file: str) -> tuple[Any, Source]:
    """Plain data of a YAML text, and where they stand.

    Raises:
        ScenarioError: it is no YAML, grows when it is read, or has a key twice.
    """
    source = Source(file)
    try:
        yaml_bounds.check(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else getattr(error, "line", None)
        problem = getattr(error, "problem", None) or str(error)
        if line is not None:
            source.lines[("yaml",)] = line
        flaw = source.flaw(("yaml",), f"is not readable: {problem}")
        raise ScenarioError([flaw]) from None
    doubles: list[Flaw] = []
    if node is not None:
        _note_lines(node, (), source, doubles)
    if doubles:
        raise ScenarioError(doubles)
    return data, source


def override(data: Any, settings: Sequence[str], source: Source) -> Any:
    """Apply `a.b=c` settings to plain data; values are YAML.

    Raises:
        ScenarioError: a setting has no `=`, or goes through something not a mapping.
    """
    for setting in settings:
        key, equals, value = setting.partition("=")
        path = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        try:
            if not equals or not key:
                raise ValueError("it is not of the form a.b=value")
            yaml_bounds.check(value)
            _put(data, path, yaml.safe_load(value))
        except (ValueError, LookupError, TypeError, yaml.YAMLError) as error:
            flaw = Flaw(file=SETTING, line=None, field=key or "setting", value=setting,
                        allowed="a.b=value, where value is YAML",
                        message=f"cannot be set: {error}")  # fmt: skip
            raise ScenarioError([flaw]) from None
        source.settings[path] = setting
    return data


def short(value: Any) -> str:
    """A value as a message shows it: JSON, cut at 80 characters."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _note_lines(node: yaml.Node, path: Path, source: Source, doubles: list[Flaw]) -> (
    None
):  # fmt: skip
    source.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner: Path = (*path, str(key.value))
            is_double = inner in source.lines
            source.lines[inner] = key.start_mark.line + 1
            if is_double:
                doubles.append(source.flaw(inner, "stands twice"))
            _note_lines(value, inner, source, doubles)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _note_lines(value, (*path, index), source, doubles)


def _put(data: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        data = _step_into(data, part)
    if isinstance(data, list):
        data[_position(data, path[-1])] = value
    elif isinstance(data, dict):
        data[path[-1]] = value
    else:
        raise ValueError(f"{path[-1]!r} is inside {short(data)}, not a mapping")


def _step_into(data: Any, part: str | int) -> Any:
    if isinstance(data, list):
        return data[_position(data, part)]
    if isinstance(data, dict):
        return data.setdefault(part, {})
    raise ValueError(f"{part!r} is inside {short(data)}, not a mapping")


def _position(items: list[Any], part: str | int) -> int:
    if not isinstance(part, int) or part >= len(items):
        raise ValueError(f"{part!r} is no position in a list of {len(items)}")
    return part
