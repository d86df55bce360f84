"""A packet-level leaf-spine simulator (SprayCheck "evaluation").

    from spraycheck.simulator import FabricConfig, SimulatorConfig, ring, simulate
    from spraycheck.simulator import Sprayed, spray_counts     # counts, seeds x spines

Config in, result out; seeded, the same packets for the same seed on every machine.
Importing this imports neither numpy nor numba; numba compiles at the first simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spraycheck.simulator.config import (
        Dcqcn,
        FabricConfig,
        Flow,
        LinkDelay,
        SimulatorConfig,
    )
    from spraycheck.simulator.loss import LinkLoss, black_hole
    from spraycheck.simulator.result import SimulationResult
    from spraycheck.simulator.run import Simulation, simulate
    from spraycheck.simulator.spray import Sprayed, spray_counts
    from spraycheck.simulator.traffic import all_to_all, halving_doubling, ring

_HOMES = {
    "Dcqcn": "config",
    "FabricConfig": "config",
    "Flow": "config",
    "LinkDelay": "config",
    "LinkLoss": "loss",
    "Simulation": "run",
    "SimulationResult": "result",
    "SimulatorConfig": "config",
    "Sprayed": "spray",
    "all_to_all": "traffic",
    "black_hole": "loss",
    "halving_doubling": "traffic",
    "ring": "traffic",
    "simulate": "run",
    "spray_counts": "spray",
}

__all__ = [
    "Dcqcn",
    "FabricConfig",
    "Flow",
    "LinkDelay",
    "LinkLoss",
    "Simulation",
    "SimulationResult",
    "SimulatorConfig",
    "Sprayed",
    "all_to_all",
    "black_hole",
    "halving_doubling",
    "ring",
    "simulate",
    "spray_counts",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spraycheck.simulator' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"spraycheck.simulator.{_HOMES[name]}")
    return getattr(home, name)
