"""A fabric and scenarios that are played in milliseconds."""

from __future__ import annotations

from typing import Any

from harness.fabric.replay import Record
from harness.fabric.settings import SimulatedFabric
from harness.scenario import Scenario, from_data

FABRIC = {
    "kind": "simulated",
    "model": "real",
    "min_packets_per_spine": 600,
}


JOB_BYTES = 20_480_000
"""Of one rank: 5,000 packets of 4 KiB; a leaf sends 5,000 to its first peer, 2,500 to
its second one."""


def settings(**changes: Any) -> SimulatedFabric:
    return SimulatedFabric.model_validate({**FABRIC, **changes})


def scenario(
    *faults: dict[str, Any],
    expect: list[dict[str, Any]] | None = None,
    steps: int = 8,
    **fabric: Any,
) -> Scenario:
    return from_data(
        {
            "title": "a fabric",
            "seed": 5,
            "steps": steps,
            "workload": {"parallel": {"replicate": 4}},
            "fabric": {**FABRIC, **fabric},
            "faults": list(faults),
            "expect": expect or [],
        }
    )


def record(steps: int = 8) -> Record:
    return Record(job_bytes=tuple((step, JOB_BYTES) for step in range(1, steps + 1)))
