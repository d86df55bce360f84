"""The coverage contract against the registry and against what scenarios expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from harness.coverage import COVERAGE, LIFETIMES, Cell, Grade
from harness.matching import targets_of
from harness.scenario import Scenario, catalogue, load
from injectors.fault import StepParameters
from injectors.registry import FAULTS
from vocab.verdict import State

SCENARIOS = {name: load(path) for name, path in catalogue().items()}


def ids(cell: Cell) -> str:
    return f"{cell.kind}/{cell.surface}/{cell.lifetime}"


def offered(kind: str) -> tuple[str, ...]:
    """Lifetimes that a scenario can ask for."""
    field = FAULTS[kind].parameters.model_fields["lifetime"]
    return get_args(field.annotation)


def struck(cell: Cell, scenario: Scenario) -> list[StepParameters]:
    return [
        fault
        for _, fault in scenario.named_faults()
        if isinstance(fault, StepParameters)
        and (fault.kind, fault.lifetime) == (cell.kind, cell.lifetime)
    ]


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_every_fault_has_a_cell_for_each_lifetime_it_can_have(kind: str) -> None:
    promised = {cell.lifetime for cell in COVERAGE if cell.kind == kind}
    assert promised == set(offered(kind))


def test_no_row_is_about_an_unknown_fault_and_no_cell_is_there_twice() -> None:
    assert {cell.kind for cell in COVERAGE} <= set(FAULTS)
    assert len(set(map(ids, COVERAGE))) == len(COVERAGE)
    assert {cell.lifetime for cell in COVERAGE} <= set(LIFETIMES)


@pytest.mark.parametrize("cell", COVERAGE, ids=ids)
def test_every_cell_is_shown_by_scenarios_or_says_why(cell: Cell) -> None:
    assert cell.scenarios or cell.reason
    assert [name for name in cell.scenarios if name not in SCENARIOS] == []
    for name in cell.scenarios:
        assert struck(cell, SCENARIOS[name]), f"{name} has no such fault"


def test_every_scenario_with_a_fault_stands_in_a_cell() -> None:
    shown = {name for cell in COVERAGE for name in cell.scenarios}
    with_faults = {name for name, item in SCENARIOS.items() if item.faults}
    assert with_faults - shown == set()


@pytest.mark.parametrize("cell", COVERAGE, ids=ids)
def test_no_expectation_contradicts_its_cell(cell: Cell) -> None:
    for name in cell.scenarios:
        assert list(_contradictions(cell, SCENARIOS[name])) == [], name


def _contradictions(cell: Cell, scenario: Scenario) -> Iterator[str]:
    faults = struck(cell, scenario)
    others = {
        name
        for _, fault in scenario.named_faults()
        if isinstance(fault, StepParameters) and fault not in faults
        for name in fault.targets
    }
    promised = {
        name
        for item in scenario.expect
        if item.state is State.ATTRIBUTED and not item.outside_coverage
        for name in targets_of(item)
    }
    ours = {name for fault in faults for name in fault.targets}
    if cell.grade in (Grade.LOCALIZABLE, Grade.RESIDUE):
        yield from (f"{name} is not promised" for name in ours - promised)
    else:
        named = promised & (ours - others)
        yield from (f"{name} is promised" for name in named)
    if cell.grade is Grade.CONTROL:
        possible = {name for item in scenario.expect for name in targets_of(item)}
        yield from (f"{name} may be blamed" for name in possible - others)
    if cell.grade is Grade.RESIDUE and cell.lifetime == "persistent":
        yield "a persistent fault is not over"


def test_a_contradiction_is_seen() -> None:
    found = SCENARIOS["sdc-parameter"]
    cell = next(c for c in COVERAGE if "sdc-parameter" in c.scenarios)
    wrong = Cell(
        kind=cell.kind,
        surface=cell.surface,
        lifetime=cell.lifetime,
        grade=Grade.OUTSIDE,
        scenarios=cell.scenarios,
    )
    silent = found.model_copy(update={"expect": ()})
    assert list(_contradictions(cell, found)) == []
    assert list(_contradictions(wrong, found)) == ["rank2 is promised"]
    assert list(_contradictions(cell, silent)) == ["rank2 is not promised"]
