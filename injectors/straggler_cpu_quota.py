"""`straggler.cpu_quota`: a cgroup gives one rank less CPU time than it needs.

As a container with too small a limit. To the rank it looks like contention; only the
cgroup's throttled time tells (FACTS). Where hosts are containers the engine limits the
rank's host, and so all ranks on it; else the rank moves into a cgroup of its own, which
needs root and a CPU cgroup.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from injectors.cpu_cgroup import CpuCgroup
from injectors.fault import Healing, HostContext, RankContext, RankParameters
from injectors.host_fault import OnHost
from injectors.trigger import TriggerAtStep
from vocab.events import Change
from vocab.names import rank_name


class StragglerCpuQuota(RankParameters):
    """How much CPU time is left, and in which portions."""

    kind: Literal["straggler.cpu_quota"]
    cpu_frac: float = Field(
        0.1, gt=0, le=1, description="fraction of one CPU that the rank may use"
    )
    period_s: float = Field(
        0.04, ge=0.01, le=1, description="seconds in which the quota is counted"
    )


class CpuQuota:
    """The fault at work in its rank: it moves its own process."""

    label = "Straggler: CPU quota"
    color = "#fd8d3c"
    moment: Literal["step_start"] = "step_start"

    def __init__(self, parameters: StragglerCpuQuota, context: RankContext) -> None:
        self._quota_s = parameters.cpu_frac * parameters.period_s
        self._period_s = parameters.period_s
        self._what = f"CPU quota of {rank_name(context.rank)}"
        self._group = CpuCgroup(rank_name(context.rank))

    def inject(self, step: int) -> tuple[Change, ...]:
        """Move into a group with the quota.

        Raises:
            CannotInject: the kernel or the rights do not allow it.
        """
        before = self._group.quota()
        self._group.enter(self._quota_s, self._period_s)
        return (Change(what=self._what, before=before, after=self._group.quota()),)

    def heal(self, step: int) -> Healing:
        """Move back, and remove the group."""
        before = f"{self._group.quota()}, {self._group.throttled()}"
        self._group.leave()
        change = Change(what=self._what, before=before, after=self._group.quota())
        return Healing(changes=(change,))


class QuotaByEngine:
    """The harness's part where hosts are containers: the engine sets the limit."""

    label = CpuQuota.label
    color = CpuQuota.color
    duration_s = math.inf  # until the window's last step

    def __init__(self, parameters: StragglerCpuQuota, context: HostContext) -> None:
        self._cpus = parameters.cpu_frac
        self._host = OnHost(parameters, context)

    def inject(self) -> tuple[Change, ...]:
        """Limit the host.

        Raises:
            CannotInject: the engine refuses.
        """
        host = self._host
        before = host.engine.throttled(host.rank)
        host.engine.limit_cpus(host.rank, self._cpus)
        return (host.change(before, f"{self._cpus:g} CPUs", "CPU limit"),)

    def heal(self) -> Healing:
        """Lift the limit; the kernel says how long it held the host back."""
        host = self._host
        before = host.engine.throttled(host.rank)
        host.engine.limit_cpus(host.rank, None)
        return Healing(changes=(host.change(before, "no limit", "CPU limit"),))


def make_quota_of_rank(
    parameters: StragglerCpuQuota, context: RankContext
) -> CpuQuota | TriggerAtStep:
    """A group of the rank's own, or the word to the engine."""
    if context.is_in_container:
        return TriggerAtStep(parameters, context)
    return CpuQuota(parameters, context)


def make_quota_of_host(
    parameters: StragglerCpuQuota, context: HostContext
) -> QuotaByEngine | None:
    """The engine's part; none where hosts are no containers."""
    return None if context.engine is None else QuotaByEngine(parameters, context)
