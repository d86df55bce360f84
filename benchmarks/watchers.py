"""Who watches the job that `cost` measures: SCOUT, or the authors' own lm-resiliency.

Each attaches to a model and its optimizer in every rank, with a check every I = 20
steps and V = 3 value variants of each replayed module.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

EVERY = 20
PEER = "lm-resiliency 0.2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A diagnosis at work in one rank."""

    num_variants: int
    every: int
    trouble: Callable[[], str | None]
    """Why its checks were not what they should be; None: they were."""
    close: Callable[[], None]


Attach = Callable[[Any, Any], Watched]
"""(model, optimizer) to a diagnosis; called once on every rank."""


def scout(model: Any, optimizer: Any) -> Watched:
    """SCOUT at its defaults, with observers."""
    from scout import ScoutConfig
    from scout.enable import enable_resiliency

    config = ScoutConfig(replay_every=EVERY)
    handle = enable_resiliency(model, optimizer, config)
    return Watched(
        num_variants=len(config.variants),
        every=config.replay_every,
        trouble=lambda: handle.disabled,
        close=handle.close,
    )


def peer_missing() -> str | None:
    """Why lm-resiliency cannot be measured here; None: it can."""
    if importlib.util.find_spec("lm_resiliency") is None:
        return (
            "not measured: No module named 'lm_resiliency'; install the extra `peers`"
        )
    return None


def peer(model: Any, optimizer: Any) -> Watched:
    """lm-resiliency's detection at its defaults, on gloo, without its checkpoints."""
    import torch
    import torch.distributed as dist

    # It reads torchrun's variables, and knows an embedding by one of its own names.
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(dist.get_rank())
    os.environ["WORLD_SIZE"] = str(dist.get_world_size())
    model.module.embedding = model.module.tokens
    if not torch.cuda.is_available():  # it waits for a device also where there is none
        torch.cuda.synchronize = lambda *_: None
    from lm_resiliency import ReplayHarnessConfig, enable_resiliency

    config = ReplayHarnessConfig()
    reports: list[Any] = []
    handle = enable_resiliency(
        model, optimizer, interval=EVERY, enable_checkpoint=False, replay=config,
        group=dist.new_group(backend="gloo"),
        nccl_group=dist.new_group(backend="gloo"), device=torch.device("cpu"),
        fault_callback=reports.append,
    )  # fmt: skip

    def trouble() -> str | None:
        modes = [report.replay_mode for report in reports]
        skipped = modes.count("readiness_incomplete")
        return f"{skipped} of its checks replayed nothing" if skipped else None

    return Watched(
        num_variants=len(config.scale_factors), every=EVERY, trouble=trouble,
        close=handle.close,
    )  # fmt: skip
