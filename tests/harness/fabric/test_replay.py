"""Twenty seeds of the fabric from one record: all right, and nobody else is blamed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from harness.errors import UsageError
from harness.fabric.replay import record_of, replay
from harness.scenario import from_data
from tests.harness.fabric.small import record, scenario

SEEDS = range(20)
UP, DOWN = "leaf0-spine1:up", "leaf3-spine3:down"
GRAY_UP = {"kind": "link.gray", "link": UP, "at_step": 3, "drop_frac": 0.15}
BURST_DOWN = {
    "kind": "link.burst",
    "link": DOWN,
    "at_step": 4,
    "drop_frac": 0.2,
    "mean_burst_pkts": 3,
}


def link(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "link", "links": [name], "from_step": 3, "by_step": 8, **more}


@pytest.mark.parametrize(
    ("faults", "expect"),
    [
        ([GRAY_UP], [link(UP, heading="up")]),
        # Two that no measured flow meets together: each is seen as if it were alone.
        ([GRAY_UP, BURST_DOWN], [link(UP), link(DOWN, heading="down")]),
        (
            [{"kind": "spine.down", "spine": 2, "unnoticed": True, "at_step": 3}],
            [{"kind": "link", "scope": "switch", "spines": [2], "from_step": 3,
              "by_step": 6}],
        ),
        (
            [{"kind": "link.down", "link": "leaf0-spine1", "at_step": 2},
             {"kind": "link.flap", "link": "leaf2-spine3", "at_step": 3}],
            [],
        ),
        (
            [{"kind": "host.loss", "host": 1, "drop_frac": 0.05, "at_step": 2},
             {"kind": "host.loss", "host": 0, "direction": "up", "at_step": 2},
             {"kind": "traffic.spoofed_marks", "source_leaf": 0, "target_leaf": 1,
              "num_packets": 100, "at_step": 2}],
            [],
        ),
        ([], []),
    ],
    ids=("gray", "two-at-once", "dead-spine", "carriers", "hosts-and-marks", "clean"),
)  # fmt: skip
def test_every_seed_finds_exactly_what_is_expected(
    faults: list[dict[str, Any]], expect: list[dict[str, Any]]
) -> None:
    steps = 8 if expect else 5
    made = scenario(*faults, expect=expect, steps=steps)
    results = list(replay(made, record(steps), SEEDS))
    assert [item.seed for item in results if not item.is_right] == []
    assert {item.num_injected for item in results} == {len(faults)}


def test_two_faults_that_hide_each_other_accuse_no_healthy_link() -> None:
    """What one link loses is sent again over the other: its deficit is smaller."""
    links = [f"leaf{leaf}-spine{spine}:{way}" for leaf in range(4)
             for spine in range(4) for way in ("up", "down")]  # fmt: skip
    for seed in range(12):
        named = Random(seed).sample(links, 3)
        faults = [
            {"kind": "link.gray", "link": name, "at_step": 2, "drop_frac": 0.02 * 3**i}
            for i, name in enumerate(named)
        ]
        (result,) = replay(scenario(*faults, steps=6), record(6), [seed])
        blamed = {name for verdict in result.verdicts for name in verdict.blamed}
        assert blamed <= set(named), seed


def test_a_wrong_expectation_is_not_right() -> None:
    wrong = scenario(GRAY_UP, expect=[link("leaf0-spine1:down")])
    (result,) = replay(wrong, record(), [1])
    assert not result.is_right
    assert [verdict.blamed for verdict in result.extras] == [(UP,)]


def test_a_fault_that_spares_every_packet_is_not_an_injection() -> None:
    fault = {"kind": "link.size", "link": UP, "min_bytes": 9_000, "at_step": 1}
    (result,) = replay(scenario(fault), record(3), [1])
    assert (result.num_injected, result.num_faults) == (0, 1)
    assert not result.is_right


def test_one_pair_of_leaves_leaves_up_and_down_open_and_says_so() -> None:
    """Two leaves: nothing tells the uplink from the downlink, so nobody is blamed."""
    two = from_data(
        {
            **scenario(GRAY_UP).model_dump(),
            "workload": {"parallel": {"replicate": 2}},
            "expect": [
                {"kind": "link", "state": "group_scoped", "from_step": 3, "by_step": 8,
                 "suspects": [UP, "leaf1-spine1:down"]},
            ],
        }
    )  # fmt: skip
    (result,) = replay(two, record(), [1])
    assert result.is_right
    assert result.verdicts[0].blamed == ()


def test_a_run_without_a_fabric_has_no_record() -> None:
    with pytest.raises(UsageError, match="ExchangeEnded"):
        record_of(())
