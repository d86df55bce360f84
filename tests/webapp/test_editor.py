"""Form and YAML give the same scenario file, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.scenario import catalogue, from_data, load, schema, to_yaml
from injectors.registry import FAULTS
from tests.webapp.submit import pairs_of
from webapp import editor, form

SHIPPED = catalogue()
WHERE = {
    "rank": st.integers(0, 3), "host": st.integers(0, 3), "spine": st.integers(0, 3),
    "source_leaf": st.integers(0, 1), "target_leaf": st.integers(2, 3),
    "field": st.just("shape"), "at_step": st.integers(1, 5),
}  # fmt: skip
FABRIC = ("link", "spine", "host", "traffic")
RANKS = st.lists(st.integers(0, 3), min_size=1, max_size=2)
FACTORS = st.lists(st.sampled_from([1.0, 0.5, 3.0]), min_size=1, max_size=3)
WORDS = st.text(
    st.sampled_from("abc xyz:#'\"-äß{}[]&*!|>%@`,"), min_size=1, max_size=30
)


def where(draw: st.DrawFn, kind: str, number: int) -> dict[str, Any]:
    """What a fault must say beside its kind; each number has its own link."""
    is_whole = kind in ("link.down", "link.flap")
    link = st.just(f"leaf{number}-spine1" + ("" if is_whole else ":up"))
    fields = FAULTS[kind].parameters.model_fields
    names = [name for name, field in fields.items() if field.is_required()]
    return {n: draw({**WHERE, "link": link}[n]) for n in names if n != "kind"}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Valid scenario data, with faults of every kind."""
    steps = draw(st.integers(5, 40))
    kinds = draw(st.lists(st.sampled_from(sorted(FAULTS)), max_size=3))
    in_containers = any(FAULTS[kind].needs_containers for kind in kinds)
    if in_containers:  # hosts that are containers have no simulated fabric
        kinds = [k for k in kinds if k.partition(".")[0] not in FABRIC]
    faults = [{"kind": k, **where(draw, k, i)} for i, k in enumerate(kinds)]
    expect = [
        {"kind": "sdc", "ranks": draw(RANKS),
         "from_step": 1, "by_step": draw(st.integers(1, steps))}
        for _ in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    scout: Any = draw(st.one_of(
        st.just("off"),
        st.fixed_dictionaries({}, optional={
            "replay_every": st.integers(1, 50),
            "kappa": st.floats(0.5, 20, allow_nan=False),
            "variants": FACTORS,
            "rotate_source": st.booleans(),
            "silence_by_phase_s": st.dictionaries(
                st.sampled_from(["forward", "backward"]), st.floats(1, 60)),
            "layers": st.just("blocks"),
        }),
    ))  # fmt: skip
    fabrics = st.fixed_dictionaries(
        {"kind": st.just("simulated")}, optional={"load": st.floats(0.1, 1)}
    )
    crossed = any(kind.partition(".")[0] in FABRIC for kind in kinds)
    wants = crossed or (draw(st.booleans()) and not in_containers)
    fabric = draw(fabrics) if wants else "none"
    return {
        "title": draw(WORDS.filter(str.strip)).strip(),
        "fabric": fabric,
        "runtime": "docker" if in_containers else "process",
        "seed": draw(st.integers(0, 99)),
        "description": draw(WORDS).strip(), "steps": steps, "scout": scout,
        "workload": {"parallel": {"replicate": 4}, "dropout": draw(st.floats(0, 0.9))},
        "faults": faults, "expect": expect,
    }  # fmt: skip


@given(scenarios())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_form_and_yaml_write_the_same_file(data: dict[str, Any]) -> None:
    wanted = to_yaml(from_data(data))
    by_yaml = editor.of_text(yaml.safe_dump(data, sort_keys=False), "x")
    assert by_yaml.flaws == ()
    assert by_yaml.form is not None
    by_form = editor.of_form(pairs_of(by_yaml.form), "x")
    assert by_yaml.canonical == by_form.canonical == by_form.yaml == wanted
    pairs = [*pairs_of(by_yaml.form), ("yaml", by_yaml.yaml)]
    from_form = editor.scenario_of([*pairs, ("source", "form")])
    from_yaml = editor.scenario_of([*pairs, ("source", "yaml")])
    assert to_yaml(from_form) == to_yaml(from_yaml) == wanted


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scenario_survives_the_form(name: str) -> None:
    shown = editor.of_text(SHIPPED[name].read_text("utf-8"), name)
    assert shown.form is not None
    by_form = editor.of_form(pairs_of(shown.form), name)
    assert by_form.canonical == to_yaml(load(SHIPPED[name]))


def test_line_ends_of_browsers_change_nothing() -> None:
    text = "title: x\r\ndescription: |\r\n  one\r\n  two\r\n"
    assert "\r" not in editor.of_text(text, "x").canonical
    pairs = [("f:title", "x"), ("f:description", "one\r\ntwo")]
    assert "\r" not in editor.of_form(pairs, "x").canonical


def test_a_flaw_in_the_form_names_its_line_in_the_yaml_beside_it() -> None:
    view = editor.of_form([("f:title", "x"), ("f:steps", "many")], "x")
    (flaw,) = view.flaws
    assert (flaw.field, flaw.value) == ("steps", '"many"')
    assert flaw.line is not None
    assert view.yaml.splitlines()[flaw.line - 1] == "steps: many"
    assert view.canonical == ""


def test_a_flaw_in_the_yaml_keeps_the_form_of_what_is_there() -> None:
    view = editor.of_text("title: x\nstepz: 3\n", "x")
    assert [flaw.line for flaw in view.flaws] == [2]
    assert "did you mean 'steps'" in view.flaws[0].message
    assert view.form is not None


def test_unreadable_yaml_has_no_form() -> None:
    view = editor.of_text("a: &a [1]\nb: *a\n", "x")
    assert view.form is None
    assert view.flaws[0].line == 2


def test_faults_are_added_and_removed_by_the_form() -> None:
    added = editor.of_form([("f:title", "x")], "x", "add:faults:hang.frozen")
    assert {flaw.field for flaw in added.flaws} == {"faults.0.rank", "faults.0.at_step"}
    assert added.form is not None
    dropped = editor.of_form(pairs_of(added.form), "x", "drop:faults.0")
    assert dropped.flaws == ()
    assert "faults" not in dropped.yaml


def test_every_kind_of_fault_can_be_added() -> None:
    view = editor.of_text("title: x\n", "x")
    assert view.form is not None
    repeats = {f.path: f for f in view.form.fields if isinstance(f, form.Repeat)}
    assert set(repeats["faults"].kinds) == set(FAULTS)


def test_every_setting_has_its_help_and_its_default() -> None:
    shown = form.build(schema(), {})
    switches = {f.path: f for f in shown.fields if isinstance(f, form.Switch)}
    scout, fabric = switches["scout"], switches["fabric"]
    assert (scout.is_on, fabric.is_on, fabric.on_word) == (True, False, "simulated")
    kappa = next(f for f in scout.group.fields if f.path == "scout.kappa")
    assert isinstance(kappa, form.Control)
    assert kappa.placeholder == "5.0"
    assert "robust scales" in kappa.help


@given(st.lists(st.tuples(st.text(max_size=30).map(lambda t: f"f:{t}"),
                          st.text(max_size=20)), max_size=8),
       st.text(max_size=30))  # fmt: skip
def test_any_submitted_form_is_a_scenario_or_a_list_of_flaws(
    pairs: list[tuple[str, str]], action: str
) -> None:
    view = editor.of_form(pairs, "x", action)
    assert bool(view.flaws) != bool(view.canonical)
