"""Keep torch's compiler out of ranks that never compile: two seconds of start-up.

DDP's constructor and every optimizer import `torch._dynamo` at first use, only to
learn that nothing is compiled; the import takes as long as torch itself. The built-in
jobs put a stand-in there before that happens. Called by `train.warm_up` alone, never
for a user's own script; on a torch release that it does not know it leaves everything
as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

_KNOWN_RELEASE = "2.13."


def keep_out() -> bool:
    """Install the stand-in; False where the real compiler is there or may be needed."""
    if "torch._dynamo" in sys.modules or not torch.__version__.startswith(
        _KNOWN_RELEASE
    ):
        return False
    stand_in: Any = ModuleType("torch._dynamo", "Nothing is compiled in this process.")
    stand_in.disable = _unchanged
    stand_in.graph_break = lambda: None
    stand_in.utils = ModuleType("torch._dynamo.utils")
    stand_in.utils.get_optimize_ddp_mode = lambda: "no_optimization"
    # init_process_group clears the compiler's caches wherever it is loaded.
    stand_in.trace_rules = ModuleType("torch._dynamo.trace_rules")
    stand_in.trace_rules.clear_lru_cache = lambda: None
    stand_in.__getattr__ = _refuse
    for module in (stand_in, stand_in.utils, stand_in.trace_rules):
        sys.modules[module.__name__] = module
    torch._dynamo = stand_in
    return True


def _unchanged(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
    """What `torch._dynamo.disable` gives where nothing compiles: the function."""
    return function


def _refuse(name: str) -> Any:
    raise AttributeError(
        f"torch._dynamo.{name}: this job runs without torch's compiler; start your own "
        "script to compile models"
    )
