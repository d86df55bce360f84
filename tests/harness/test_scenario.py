"""Scenarios: what is accepted comes back the same, what is not says why and where."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import Flaw, ScenarioError
from harness.scenario import (
    SCENARIOS,
    Scenario,
    catalogue,
    from_data,
    load,
    parse,
    schema,
    to_yaml,
)
from injectors.registry import FAULTS
from scout.config import RECIPES, ScoutConfig

MINIMAL = "title: x\n"


def flaws(text: str, *settings: str) -> list[Flaw]:
    with pytest.raises(ScenarioError) as caught:
        parse(text, file="f.yaml", settings=settings)
    return caught.value.flaws


def flaw(text: str, *settings: str) -> Flaw:
    [only] = flaws(text, *settings)
    return only


def test_the_smallest_scenario_is_complete() -> None:
    scenario = parse(MINIMAL)
    assert (scenario.steps, scenario.num_ranks, scenario.seed) == (12, 1, 0)
    assert scenario.scout == ScoutConfig()
    assert (scenario.faults, scenario.expect) == ((), ())


def test_every_scenario_that_ships_is_valid_and_says_what_it_proves() -> None:
    assert catalogue()
    for name, path in catalogue().items():
        scenario = load(path)
        assert scenario.description, name


@pytest.mark.parametrize("path", catalogue().values(), ids=catalogue())
def test_a_shipped_scenario_survives_its_canonical_form(path: Path) -> None:
    scenario = load(path)
    assert parse(to_yaml(scenario)) == scenario


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none.yaml: file: cannot be read"):
        load(tmp_path / "none.yaml")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "title: x\nsteps: 0\n",
            "f.yaml:2: steps: is out of range; got 0; allowed: 1 or more",
        ),
        (
            "title: x\nseed: a\n",
            'f.yaml:2: seed: is of the wrong type; got "a"; allowed: a whole number',
        ),
        ("steps: 3\n", "f.yaml:1: title: is required"),
        (
            "title: ''\n",
            'f.yaml:1: title: is out of range; got ""; allowed: at least 1 character',
        ),
        ("title: x\ntitle: y\n", "f.yaml:2: title: stands twice"),
        (
            "title: x\nworkload:\n  parallel: {replicate: 2, shard: 3}\n",
            "f.yaml:3: workload.parallel.shard: unknown value; got 3; allowed: 1",
        ),
        (
            "title: x\nworkload: {parallel: {replicte: 4}}\n",
            "f.yaml:2: workload.parallel.replicte: unknown key (did you mean "
            "'replicate'?); allowed: context, expert, pipeline, replicate, shard, "
            "tensor",
        ),
        (
            "title: x\nworkload: {d_model: 66}\n",
            "f.yaml:2: workload.d_model: is no multiple of num_heads; got 66; "
            "allowed: multiples of 4",
        ),
        (
            "title: x\nexpect: nobody\n",
            'f.yaml:2: expect: is of the wrong type; got "nobody"; allowed: a list',
        ),
        ("- 1\n", "f.yaml:1: scenario: is of the wrong type; got [1]; "
                  "allowed: a mapping"),
        ("", "f.yaml: scenario: is of the wrong type; got null; allowed: a mapping"),
        (
            "title: x\nfaults: [3]\n",
            "f.yaml:2: faults.0: is of the wrong type; got 3; allowed: a mapping",
        ),
        ("title: x\nfaults: [{rank: 1}]\n", "f.yaml:2: faults.0.kind: is required"),
    ],
)  # fmt: skip
def test_a_flaw_names_place_field_value_and_what_is_allowed(
    text: str, shown: str
) -> None:
    assert str(flaw(text)) == shown


def test_text_that_is_no_yaml_says_where() -> None:
    found = flaw("title: [\nsteps")
    assert (found.field, found.line) == ("yaml", 2)
    assert "is not readable" in found.message


def test_every_flaw_is_reported_at_once() -> None:
    found = flaws("title: x\nsteps: 0\nseed: -1\nfoo: 1\n")
    assert sorted(item.field for item in found) == ["foo", "seed", "steps"]
    assert [item.line for item in sorted(found, key=lambda f: f.field)] == [4, 3, 2]


# --- faults -----------------------------------------------------------------------


def fault(**fields: Any) -> str:
    inner = ", ".join(f"{key}: {value}" for key, value in fields.items())
    return (
        "title: x\nworkload: {parallel: {replicate: 4}}\n"
        f"faults:\n  - {{kind: sdc.parameter, {inner}}}\n"
    )


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"rank": 4, "at_step": 1}, "rank", "0..3"),
        ({"rank": 0, "at_step": 13}, "at_step", "1..12"),
        ({"rank": 0, "at_step": 0}, "at_step", "1 or more"),
        ({"rank": 0, "at_step": 5, "until_step": 4}, "until_step", "5 or more"),
        (
            {"rank": 0, "at_step": 1, "lifetime": "intermittent"},
            "probability",
            "a chance exactly if intermittent",
        ),
        (
            {"rank": 0, "at_step": 1, "probability": 0.5},
            "probability",
            "a chance exactly if intermittent",
        ),
        (
            {"rank": 0, "at_step": 1, "lifetime": "forever"},
            "lifetime",
            "'one-shot', 'intermittent' or 'persistent'",
        ),
        ({"rank": 0, "at_step": 1, "stuck_bit": 64}, "stuck_bit", "63 or less"),
    ],
)
def test_a_flaw_of_a_fault_names_its_field(
    fields: dict[str, Any], field: str, allowed: str
) -> None:
    found = flaw(fault(**fields))
    assert (found.field, found.line, found.allowed) == (f"faults.0.{field}", 4, allowed)


def test_an_unknown_kind_of_fault_lists_the_known_ones() -> None:
    found = flaw("title: x\nfaults: [{kind: sdc.foo, rank: 0, at_step: 1}]\n")
    assert (found.field, found.value) == ("faults.0.kind", "'sdc.foo'")
    assert found.allowed == ", ".join(FAULTS)


def test_an_unknown_key_of_a_fault_lists_that_fault_s_fields() -> None:
    found = flaw(fault(rank=0, at_step=1, stuckbit=3))
    assert "did you mean 'stuck_bit'?" in found.message
    assert "delay_s" not in found.allowed
    assert "stuck_bit" in found.allowed


def test_a_bare_null_as_kind_says_that_quotes_are_needed() -> None:
    found = flaw("title: x\nfaults: [{kind: null, rank: 0, at_step: 1}]\n")
    assert "put it in quotes" in found.message


def test_two_faults_cannot_share_an_id() -> None:
    one = "{kind: 'null', id: a, rank: 0, at_step: 1}"
    found = flaw(f"title: x\nfaults: [{one}, {one}]\n")
    assert (found.field, found.value) == ("faults.1.id", "'a'")


def test_faults_without_id_are_named_by_kind_and_position() -> None:
    one = "{kind: 'null', rank: 0, at_step: 1}"
    scenario = parse(f"title: x\nfaults: [{one}, {one}]\n")
    assert [name for name, _ in scenario.named_faults()] == ["null-0", "null-1"]


# --- expectations -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "field"),
    [
        ("ranks: [1], from_step: 1, by_step: 2", "ranks"),
        ("ranks: [0], from_step: 3, by_step: 2", "by_step"),
        ("from_step: 1, by_step: 2", "ranks"),
        ("ranks: [0], state: group_scoped, from_step: 1, by_step: 2", "ranks"),
        ("ranks: [0], from_step: 0, by_step: 2", "from_step"),
        ("ranks: [0], state: guilty, from_step: 1, by_step: 2", "state"),
    ],
)
def test_an_expectation_that_cannot_be_met_is_refused(inner: str, field: str) -> None:
    found = flaw(f"title: x\nexpect:\n  - {{kind: sdc, {inner}}}\n")
    assert (found.field, found.line) == (f"expect.0.{field}", 3)
    assert found.allowed


# --- the scout block --------------------------------------------------------------


def test_a_flaw_inside_the_scout_block_is_reported_once() -> None:
    found = flaw("title: x\nscout:\n  recipes: [embedding]\n  kappa: abc\n")
    assert (found.field, found.line) == ("scout.kappa", 4)
    assert found.allowed == "a number"


def test_a_value_that_scout_refuses_is_reported_at_its_own_line() -> None:
    found = flaw("title: x\nscout:\n  recipes: [embedding]\n  kappa: -1\n")
    assert str(found) == "f.yaml:4: scout.kappa: is -1.0; allowed: above 0"


def test_an_unknown_key_of_the_scout_block_is_an_unknown_key() -> None:
    found = flaw("title: x\nscout: {kapa: 3}\n")
    assert (found.field, found.line) == ("scout.kapa", 2)
    assert found.message == "unknown key (did you mean 'kappa'?)"
    assert "replay_every" in found.allowed


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    found = flaw("title: x\nscout: {recipes: [embeding]}\n")
    assert (found.field, found.allowed) == ("scout.recipes", ", ".join(RECIPES))


@pytest.mark.parametrize("word", ["off", "'off'", "false", "no"])
def test_scout_can_be_switched_off(word: str) -> None:
    assert parse(f"title: x\nscout: {word}\n").scout == "off"


def test_any_other_word_for_scout_is_refused() -> None:
    found = flaw("title: x\nscout: maybe\n")
    assert (found.field, found.value) == ("scout", '"maybe"')
    assert "'off'" in found.allowed


# --- settings ---------------------------------------------------------------------


def test_settings_change_single_fields() -> None:
    scenario = parse(
        fault(rank=1, at_step=2),
        settings=["faults.0.rank=3", "scout.kappa=7", "title=a=b", "steps=20"],
    )
    [struck] = scenario.faults
    assert getattr(struck, "rank", None) == 3
    assert (scenario.title, scenario.steps) == ("a=b", 20)
    assert isinstance(scenario.scout, ScoutConfig)
    assert scenario.scout.kappa == 7


def test_a_setting_makes_the_blocks_on_its_way() -> None:
    scenario = parse(MINIMAL, settings=["workload.parallel.replicate=4"])
    assert scenario.num_ranks == 4


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("steps", "it is not of the form a.b=value"),
        ("=3", "it is not of the form a.b=value"),
        ("steps.x=3", "not a mapping"),
        ("faults.0.rank=3", "is no position in a list of 0"),
        ("faults.x.rank=3", "is no position"),
        ("steps=[", "cannot be set"),
        ("steps=&a [*a]", "cannot be set"),
    ],
)
def test_a_setting_that_cannot_be_applied_is_named(setting: str, words: str) -> None:
    found = flaw("title: x\nsteps: 3\nfaults: []\n", setting)
    assert found.file == "--set"
    assert words in found.message
    assert found.value == setting


def test_a_flaw_of_a_setting_names_the_setting_and_not_a_line() -> None:
    found = flaw("title: x\nsteps: 3\n", "steps=abc")
    assert (found.file, found.line) == ("--set steps=abc", None)


# --- round trip -------------------------------------------------------------------

_COMMON = {"rank": st.integers(0, 3), "at_step": st.integers(1, 12)}
_FAULTS = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("sdc.parameter"), **_COMMON},
        optional={"stuck_bit": st.integers(0, 63), "element": st.integers(0, 99),
                  "lifetime": st.sampled_from(["one-shot", "persistent"])},
    ),
    st.fixed_dictionaries({"kind": st.just("null"), **_COMMON}),
    st.fixed_dictionaries(
        {"kind": st.just("straggler.compute"), **_COMMON},
        optional={"delay_s": st.floats(0.001, 60),
                  "where": st.sampled_from(["forward", "backward"])},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("hang.frozen"), **_COMMON},
        optional={"duration_s": st.floats(0.1, 100)},
    ),
)  # fmt: skip
_SCOUT = st.one_of(
    st.just("off"),
    st.fixed_dictionaries(
        {},
        optional={"replay_every": st.integers(1, 99), "kappa": st.floats(0.1, 50),
                  "recipes": st.lists(st.sampled_from(RECIPES), unique=True),
                  "silence_by_phase_s": st.dictionaries(
                      st.sampled_from(["forward", "check"]), st.floats(0.1, 99))},
    ),
)  # fmt: skip
_TITLES = st.text(
    st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=60
)
_SCENARIOS = st.fixed_dictionaries(
    {
        "title": _TITLES,
        "workload": st.just({"parallel": {"replicate": 4}}),
    },
    optional={
        "description": _TITLES,
        "seed": st.integers(0, 2**31 - 1),
        "steps": st.integers(12, 10**6),
        "scout": _SCOUT,
        "faults": st.lists(_FAULTS, max_size=3),
        "timeout_s": st.floats(0.5, 86_400),
        "expect": st.lists(
            st.fixed_dictionaries(
                {"kind": st.just("sdc"), "from_step": st.integers(1, 5),
                 "by_step": st.integers(5, 12),
                 "ranks": st.lists(st.integers(0, 3), min_size=1, unique=True)}
            ),
            max_size=2,
        ),
    },
)  # fmt: skip


@given(data=_SCENARIOS)
def test_the_canonical_form_loses_nothing(data: dict[str, Any]) -> None:
    scenario = from_data(data)
    text = to_yaml(scenario)
    assert parse(text) == scenario
    assert to_yaml(parse(text)) == text


@given(text=st.text(max_size=80))
def test_no_text_at_all_is_more_than_flawed(text: str) -> None:
    with contextlib.suppress(ScenarioError):  # any other error fails the test
        parse(text)


@given(
    key=st.text(st.characters(codec="ascii"), max_size=20),
    value=st.text(max_size=20),
)
def test_no_setting_is_more_than_flawed(key: str, value: str) -> None:
    with contextlib.suppress(ScenarioError):
        parse("title: x\nfaults: [{kind: 'null', rank: 0, at_step: 1}]\n",
              settings=[f"{key}={value}"])  # fmt: skip


def test_the_schema_names_every_field_and_every_fault() -> None:
    made = schema()
    assert set(made["properties"]) == set(Scenario.model_fields)
    mapping = made["properties"]["faults"]["items"]["discriminator"]["mapping"]
    assert set(mapping) == set(FAULTS)


def test_the_catalogue_is_that_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").touch()
    (tmp_path / "a.yaml").touch()
    (tmp_path / "readme.md").touch()
    assert list(catalogue(tmp_path)) == ["a", "b"]
    assert catalogue() == catalogue(SCENARIOS)


def test_a_fault_of_a_start_that_never_comes_is_an_error() -> None:
    with pytest.raises(ScenarioError, match=r"attempt: is never started; got 2; .*1"):
        parse(MINIMAL + "faults: [{kind: 'null', rank: 0, at_step: 1, attempt: 2}]\n")


def test_faults_belong_to_the_start_in_which_they_strike() -> None:
    scenario = parse(
        MINIMAL + "restarts: 1\nfaults:\n"
        "  - {kind: 'null', rank: 0, at_step: 1}\n"
        "  - {kind: 'null', rank: 0, at_step: 2, attempt: 2}\n"
    )
    assert [name for name, _ in scenario.faults_of(1)] == ["null-0"]
    assert [name for name, _ in scenario.faults_of(2)] == ["null-1"]
