"""Small YAML that would grow is refused before it grows."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import yaml_bounds
from harness.errors import ScenarioError
from harness.scenario import parse

BILLION_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)
)


def test_aliases_are_refused_with_their_line() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(BILLION_LAUGHS)
    (flaw,) = caught.value.flaws
    assert (flaw.line, flaw.field) == (2, "yaml")
    assert "alias" in flaw.message


def test_an_alias_bomb_costs_no_time() -> None:
    start = time.monotonic()
    with pytest.raises(yaml_bounds.YamlTooWild):
        yaml_bounds.check(BILLION_LAUGHS)
    assert time.monotonic() - start < 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[" * 200, "nested"),
        ("x" * (yaml_bounds.MAX_CHARS + 1), "characters"),
        ("- 1\n" * (yaml_bounds.MAX_NODES + 1), "values"),
    ],
)
def test_every_bound_is_named(text: str, word: str) -> None:
    with pytest.raises(yaml_bounds.YamlTooWild, match=word):
        yaml_bounds.check(text)


@given(st.text(max_size=300))
def test_any_text_is_a_scenario_or_a_scenario_error(text: str) -> None:
    try:
        parse(text)
    except ScenarioError as error:
        assert error.flaws  # noqa: PT017
