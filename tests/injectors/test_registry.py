"""The registry, the scenario schema and the files of faults agree."""

from __future__ import annotations

import importlib
import pkgutil
from typing import get_args

import injectors
from harness.scenario import schema
from injectors.fault import Parameters, RankParameters
from injectors.registry import FAULTS


def test_each_fault_is_registered_under_its_own_kind() -> None:
    for kind, row in FAULTS.items():
        field = row.parameters.model_fields["kind"]
        assert get_args(field.annotation) == (kind,)
        assert row.proves.endswith(".")


def test_every_kind_of_parameters_is_registered() -> None:
    for module in pkgutil.iter_modules(injectors.__path__):
        importlib.import_module(f"injectors.{module.name}")
    found = {cls for cls in _leaves(Parameters) if cls.__module__.startswith("inj")}
    assert found == {row.parameters for row in FAULTS.values()}


def test_the_schema_offers_every_fault_with_every_field() -> None:
    made = schema()
    items = made["properties"]["faults"]["items"]
    mapping = items["discriminator"]["mapping"]
    assert set(mapping) == set(FAULTS)
    for kind, ref in mapping.items():
        shown = made["$defs"][ref.rpartition("/")[2]]
        assert set(shown["properties"]) == set(FAULTS[kind].parameters.model_fields)
        assert shown["additionalProperties"] is False


def test_every_field_of_a_fault_says_what_it_means() -> None:
    for kind, row in FAULTS.items():
        for name, field in row.parameters.model_fields.items():
            inherited = RankParameters.model_fields.get(name)
            text = field.description or (inherited and inherited.description)
            assert name == "kind" or text, f"{kind}.{name}"


def _leaves(cls: type) -> set[type]:
    inner = cls.__subclasses__()
    return set().union(*map(_leaves, inner)) if inner else {cls}
