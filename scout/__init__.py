"""SCOUT: which rank broke symmetry with its data-parallel peers (`papers`: SCOUT).

    from scout import enable_resiliency
    handle = enable_resiliency(model, optimizer)      # one call, any torchrun script

Importing this package imports no torch; `enable_resiliency` does when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scout.config import ScoutConfig

if TYPE_CHECKING:
    from scout.enable import enable_resiliency
    from scout.handle import Handle, Tier
    from scout.mesh import Mesh

__all__ = ["Handle", "Mesh", "ScoutConfig", "Tier", "enable_resiliency"]

_HOMES = {
    "enable_resiliency": "scout.enable",
    "Handle": "scout.handle",
    "Tier": "scout.handle",
    "Mesh": "scout.mesh",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'scout' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
