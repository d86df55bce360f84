"""All experiments, as one literal dict: name -> experiment, in the paper's order."""

from __future__ import annotations

from harness.experiments import (
    asymmetry,
    congestion,
    iterations,
    multi_failure,
    overlap,
    pmin,
    priority_cost,
    reorder,
    roc,
    spray_noise,
)
from harness.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    "spray-noise": spray_noise.EXPERIMENT,
    "roc": roc.EXPERIMENT,
    "pmin": pmin.EXPERIMENT,
    "iterations": iterations.EXPERIMENT,
    "multi-failure": multi_failure.EXPERIMENT,
    "asymmetry": asymmetry.EXPERIMENT,
    "congestion": congestion.EXPERIMENT,
    "overlap": overlap.EXPERIMENT,
    "reorder": reorder.EXPERIMENT,
    "priority-cost": priority_cost.EXPERIMENT,
}
