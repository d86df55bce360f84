"""A run directory whose fabric has carried steps: real files, and no job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.fabric.calibration import sensitivities
from harness.fabric.carrier import Fabric
from harness.fabric.detection import Detection
from harness.fabric.journal import Journal
from harness.fabric.player import Player
from harness.store import RunDirectory
from injectors.fabric_driver import FabricDriver
from tests import run_builder as rb
from tests.harness.fabric.small import JOB_BYTES, scenario

UP = "leaf0-spine1:up"
GRAY = {"kind": "link.gray", "link": UP, "at_step": 2, "drop_frac": 0.2}


@contextmanager
def played(
    root: Path, *faults: dict[str, Any], steps: int = 6, ranks: int = 4, **more: Any
) -> Iterator[tuple[RunDirectory, Fabric]]:
    """A run whose fabric has carried so many steps and may go on."""
    made = scenario(*faults, steps=20, **more)
    if ranks != 4:
        workload = made.workload.model_copy(
            update={"parallel": made.workload.parallel.model_copy(
                update={"replicate": ranks})}
        )  # fmt: skip
        made = made.model_copy(update={"workload": workload})
    run = rb.RunBuilder(root, made, "20261201-120000-fabric-0001").close()
    assert made.fabric != "none"
    journal = Journal(run.events, Detection())
    fabric = Fabric(
        settings=made.fabric,
        player=Player(made.fabric, made.num_ranks, made.seed),
        driver=FabricDriver(
            made.fabric_faults(), seed=made.seed, emit=lambda event: None
        ),
        journal=journal,
    )
    fabric.ready(made.num_ranks, sensitivities(made.fabric), startup_s=0.1, pid=1)
    for step in range(1, steps + 1):
        fabric.begin(step, JOB_BYTES)
        fabric.finish(JOB_BYTES)
    yield run, fabric
    journal.close()
