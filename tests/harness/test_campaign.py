"""Campaign files: which cases they make, and how a flaw is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.campaign import Plan, plan, suites
from harness.errors import ScenarioError

SMALL = """
title: Small
parts:
  - name: hangs
    scenarios: [hang-frozen-forward, own.yaml]
    seeds: {first: 7, count: 2}
    variants: [[], ["faults.0.rank=1", "expect.0.ranks=[1]"]]
  - name: controls
    scenarios: [clean]
    seeds: [3]
"""
OWN = """
title: Own
workload: {parallel: {replicate: 4}}
faults: [{kind: hang.frozen, rank: 2, at_step: 6, duration_s: 5, where: forward}]
expect: [{kind: hang, ranks: [2], from_step: 6, by_step: 7}]
"""


def planned(folder: Path, text: str = SMALL, own: str = OWN) -> Plan:
    (folder / "own.yaml").write_text(own)
    (folder / "small.yaml").write_text(text)
    return plan(folder / "small.yaml")


def test_cases_are_parts_by_scenarios_by_variants_by_seeds(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert [case.case_id for case in found.cases] == [
        "hangs/hang-frozen-forward/v1/s7",
        "hangs/hang-frozen-forward/v1/s8",
        "hangs/hang-frozen-forward/v2/s7",
        "hangs/hang-frozen-forward/v2/s8",
        "hangs/own/v1/s7",
        "hangs/own/v1/s8",
        "hangs/own/v2/s7",
        "hangs/own/v2/s8",
        "controls/clean/v1/s3",
    ]
    assert {case.kinds for case in found.cases} == {"hang.frozen", "clean"}
    changed = found.cases[7].scenario
    assert (changed.seed, changed.expect[0].ranks) == (8, (1,))
    assert changed.faults[0].rank == 1  # type: ignore[attr-defined]


def test_the_digest_changes_with_any_scenario_of_it(tmp_path: Path) -> None:
    first = planned(tmp_path).digest
    assert planned(tmp_path).digest == first
    assert planned(tmp_path, own=OWN.replace("rank: 2", "rank: 3")).digest != first
    assert planned(tmp_path, SMALL.replace("[3]", "[4]")).digest != first


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title: Small", "titel: Small", "small.yaml:2: titel: unknown key (did you"),
        ("[clean]", "[clan]", ":9: parts.1.scenarios.0: no such scenario; got 'clan'; "
                              "allowed: a file, or one of clean"),
        ("[clean]", "[]", "parts.1.scenarios: "),
        ("[clean]", "[no.yaml]", "no.yaml: file: cannot be read"),
        ("[clean]", "[clean, clean]", "parts.1.scenarios: has one twice"),
        ("name: controls", "name: hangs", "parts.1.name: is used twice; got 'hangs'"),
        ("name: controls", "name: A b", "parts.1.name: is out of range"),
        ("seeds: [3]", "seeds: []", "parts.1.seeds: must be distinct"),
        ("seeds: [3]", "seeds: [3, 3]", "parts.1.seeds: must be distinct"),
        ("count: 2", "count: 0", "is out of range; got 0; allowed: 1 or more"),
        ("[[], [", "[[], [x, ", "--set: x: cannot be set"),
        ("faults.0.rank=1", "faults.0.rank=9", "no such rank; got 9; allowed: 0..3"),
        ("[[], [", "[[], [], [", "parts.0.variants: has one twice"),
    ],
)  # fmt: skip
def test_a_flaw_is_named(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in SMALL
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, SMALL.replace(old, new))
    assert told in str(caught.value)


def test_a_campaign_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere.yaml: file: cannot be read"):
        plan(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("name", sorted(suites()))
def test_every_suite_that_ships_can_be_launched(name: str) -> None:
    assert plan(suites()[name]).cases


def test_table_3_has_as_many_launches_as_the_paper() -> None:
    cases = plan(suites()["hangs-table3"]).cases
    parts = [case.part.partition("-")[0] for case in cases]
    assert {part: parts.count(part) for part in parts} == {
        "primary": 120,  # SCOUT Table 3: 120/120 primary
        "focused": 30,  # and 30/30 focused launches
        "controls": 10,
    }
    assert {c.kinds for c in cases if c.part == "controls"} == {"clean", "null"}
