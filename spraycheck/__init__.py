"""SprayCheck: which leaf-spine link drops packets (`papers`: SprayCheck).

    from spraycheck import LeafController, Monitor, judge
    judge((9_500, 10_170, 10_160, 10_170), 40_000, s).failed      # counts to spines

Leaf switches count, per spine, the packets of one measured flow (`dataplane`); each
leaf's `LeafController` compares; the `Monitor` intersects paths into link verdicts.
All of it is pure. Importing this package imports neither numpy nor numba, nor do
controller and monitor. `localize` and `calibrate` stand in the modules of their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spraycheck.announcement import Announcement
    from spraycheck.calibrate import Calibration, Key
    from spraycheck.control import ControlConfig, LeafController
    from spraycheck.localize import Localization, PathEvidence
    from spraycheck.monitor import Monitor, MonitorConfig
    from spraycheck.report import PathsReported
    from spraycheck.selection import FlowSelector
    from spraycheck.ztest import FlowResult, judge, sensitivity

__all__ = [
    "Announcement",
    "Calibration",
    "ControlConfig",
    "FlowResult",
    "FlowSelector",
    "Key",
    "LeafController",
    "Localization",
    "Monitor",
    "MonitorConfig",
    "PathEvidence",
    "PathsReported",
    "judge",
    "sensitivity",
]

_HOMES = {
    "Announcement": "spraycheck.announcement",
    "Calibration": "spraycheck.calibrate",
    "ControlConfig": "spraycheck.control",
    "FlowResult": "spraycheck.ztest",
    "FlowSelector": "spraycheck.selection",
    "Key": "spraycheck.calibrate",
    "LeafController": "spraycheck.control",
    "Localization": "spraycheck.localize",
    "Monitor": "spraycheck.monitor",
    "MonitorConfig": "spraycheck.monitor",
    "PathEvidence": "spraycheck.localize",
    "PathsReported": "spraycheck.report",
    "judge": "spraycheck.ztest",
    "sensitivity": "spraycheck.ztest",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spraycheck' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
