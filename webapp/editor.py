"""The launch page's state: form and YAML side by side, and what is wrong with them.

Both ways end in `harness.scenario.to_yaml`, so form and YAML of the same scenario give
the same file, byte for byte. Pure but for reading the scenario files.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from harness.errors import Flaw, ScenarioError
from harness.scenario import Scenario, parse, schema, to_yaml
from harness.views.gallery import summary
from webapp import form
from webapp.form import Group

Pairs = Sequence[tuple[str, str]]
FILE = "scenario.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """What the launch page shows; `canonical` is the file that a launch writes."""

    name: str
    source: str  # which side was edited last: form or yaml
    yaml: str
    canonical: str  # "" while there are flaws
    flaws: tuple[Flaw, ...]
    form: Group | None  # None: the YAML cannot be shown as a form
    summary: str  # "4 ranks · 12 steps · 1 fault"; "" while there are flaws


def of_text(text: str, name: str) -> Editor:
    """Edited as YAML: the text stays as it is, the form follows."""
    text = text.replace("\r\n", "\n")
    data, flaws, scenario = _load(text)
    shown = form.build(_schema(), data) if isinstance(data, dict) else None
    return _editor(name, "yaml", text, flaws, scenario, shown)


def of_form(pairs: Pairs, name: str, action: str = "") -> Editor:
    """Edited as form: the YAML follows, canonical where it is valid.

    Args:
        action: `add:<list>:<kind>` or `drop:<list>.<index>`, applied first.
    """
    data = form.read(_schema(), pairs)
    verb, _, rest = action.partition(":")
    if verb == "add":
        path, _, kind = rest.partition(":")
        form.add_item(_schema(), data, path, kind)
    elif verb == "drop":
        form.drop_item(data, rest)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=88)
    _, flaws, scenario = _load(text)
    if scenario is not None:
        text = to_yaml(scenario)
    return _editor(name, "form", text, flaws, scenario, form.build(_schema(), data))


def scenario_of(pairs: Pairs) -> Scenario:
    """The scenario of a submitted launch page, by the side that was edited last.

    Raises:
        ScenarioError: it has flaws.
    """
    fields = dict(pairs)
    if fields.get("source") == "form":
        text = of_form(pairs, "").yaml
    else:
        text = fields.get("yaml", "").replace("\r\n", "\n")
    return parse(text, file=FILE)


@functools.cache
def _schema() -> dict[str, Any]:
    """Made once: pydantic takes 40 ms for it, and every keystroke needs it."""
    return schema()


def _editor(
    name: str, source: str, text: str, flaws: tuple[Flaw, ...],
    scenario: Scenario | None, shown: Group | None,
) -> Editor:  # fmt: skip
    return Editor(
        name=name,
        source=source,
        yaml=text,
        canonical=to_yaml(scenario) if scenario else "",
        flaws=flaws,
        form=shown,
        summary=summary(scenario) if scenario else "",
    )


def _load(text: str) -> tuple[Any, tuple[Flaw, ...], Scenario | None]:
    """(plain data, flaws, scenario); data are there even where they are flawed."""
    try:
        scenario = parse(text, file=FILE)
    except ScenarioError as error:
        flaws = tuple(error.flaws)
        unreadable = any(flaw.field == "yaml" for flaw in flaws)
        return None if unreadable else yaml.safe_load(text), flaws, None
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    return data, (), scenario
