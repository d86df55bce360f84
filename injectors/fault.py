"""What every fault has: parameters that a scenario sets, and who drives it when.

    scenario.faults[i] --registry--> Parameters
        --make_rank_fault--> RankFault (in the rank)
        --make_host_fault--> HostFault (in the harness)
        --make_fabric_fault--> FabricFault (in the fabric)

A RankFault is driven by `rank_driver` at the step's start and around the optimizer
update; a HostFault by `host_driver`, from outside, after the rank said where it is; a
FabricFault by `fabric_driver`, step by step. Inject and heal are idempotent; a fault
writes nothing that a detector reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from injectors.fabric_effect import Effect, FabricTrace
from vocab.events import Change, Event
from vocab.names import rank_name

if TYPE_CHECKING:  # the CLI and the dashboard read parameters without torch
    import torch


Moment = Literal[
    "before_fetch", "step_start", "update_start", "update_end", "beside_training"
]


class Parameters(BaseModel):
    """Fields that every fault has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    id: str | None = Field(
        None,
        description="name in events and pages; default: kind and position in the file",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._#-]{0,63}$",
    )


class OfRank(Parameters):
    """Whom a fault of a rank strikes; apart, so that it comes first in files."""

    rank: int = Field(ge=0, description="global rank that the fault strikes")


class StepParameters(Parameters):
    """Fields of every fault that strikes in a window of steps."""

    at_step: int = Field(ge=1, description="first step (from 1) at which it may strike")
    attempt: int = Field(
        1, ge=1, le=11, description="start of the job in which it strikes; 2: restarted"
    )
    until_step: int | None = Field(
        None, ge=1, description="last step of the window; absent: until the run ends"
    )
    lifetime: Literal["one-shot", "intermittent", "persistent"] = Field(
        "persistent",
        description="strikes once, at each step with `probability`, or at each step",
    )
    probability: float | None = Field(
        None, gt=0, lt=1, description="chance per step; only for intermittent"
    )

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of what is struck, as events and pages show them."""
        return ()


class RankParameters(StepParameters, OfRank):
    """Fields of every fault that strikes one rank in a window of steps."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The rank."""
        return (rank_name(self.rank),)


class FabricParameters(StepParameters):
    """Fields of every fault that strikes the fabric; its subclasses name what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankContext:
    """What a fault inside a rank may touch, by public PyTorch interfaces only."""

    rank: int
    seed: int
    fault_id: str
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    layers: Sequence[tuple[str, torch.nn.Module]]
    emit: Callable[[Event], object]
    before_fetch: list[Callable[[], None]] | None = None  # None: no such hooks here
    # For faults that only wait when they are injected: tells each strike as it comes.
    prove: Callable[[tuple[Change, ...]], None] = lambda changes: None
    is_in_container: bool = False  # faults of its host are the engine's to make


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """What a heal put back, and what stays changed although the fault is over."""

    changes: tuple[Change, ...]
    residue: str = ""


class RankFault(Protocol):
    """A fault inside a rank; the driver calls `inject` and `heal` by its window.

    `moment` says where in a step it strikes: `before_fetch` (before the step's batch is
    fetched), `step_start` (before the forward pass), `update_start` (after the backward
    pass and its reductions), `update_end` (after the optimizer's update, lifted
    before the next one) or `beside_training` (as that, lifted before the next forward
    pass). A fault that only waits then returns nothing from `inject`
    and tells each strike by the context's `prove`.
    """

    @property
    def label(self) -> str:
        """Short name for charts."""

    @property
    def color(self) -> str:
        """CSS colour of its bands in charts."""

    @property
    def moment(self) -> Moment:
        """When in a step it strikes."""

    def inject(self, step: int) -> tuple[Change, ...]:
        """Strike; return what changed, read back from the target."""

    def heal(self, step: int) -> Healing:
        """Undo; a second call changes nothing."""


class HostFault(Protocol):
    """A fault from outside the rank, begun when the rank reports `FaultTriggered`."""

    @property
    def label(self) -> str:
        """Short name for charts."""

    @property
    def color(self) -> str:
        """CSS colour of its bands in charts."""

    @property
    def duration_s(self) -> float:
        """Seconds from inject to heal; `inf`: until the window's last step ended."""

    def inject(self) -> tuple[Change, ...]:
        """Strike or verify that the strike holds; return what changed, read back."""

    def heal(self) -> Healing:
        """Undo; a second call changes nothing."""


class FabricFault(Protocol):
    """A fault of the network between hosts; `fabric_driver` knows when it strikes."""

    @property
    def label(self) -> str:
        """Short name for charts."""

    @property
    def color(self) -> str:
        """CSS colour of its bands in charts."""

    def effect(self, step: int) -> Effect | None:
        """What it does to the fabric in a step of its window; None: it pauses."""

    def prove(
        self, before: FabricTrace | None, after: FabricTrace
    ) -> tuple[Change, ...]:
        """What the fabric shows of it after a step; (): it did not strike (yet).

        `before` is the last step without it, None where there was none.
        """


class HostEngine(Protocol):
    """What runs the hosts of a job, as faults use it; a host is named by a rank of it.

    Every call raises `CannotInject` where the engine refuses or cannot be reached.
    """

    def name_of(self, rank: int) -> str:
        """The host of a rank, such as host1."""

    def state_of(self, rank: int) -> str:
        """In the engine's words: running, paused, exited (137), ..."""

    def pause(self, rank: int) -> None:
        """Freeze everything on the host."""

    def unpause(self, rank: int) -> None:
        """Let it go on; nothing where it is not paused."""

    def kill(self, rank: int) -> None:
        """End everything on the host at once."""

    def limit_cpus(self, rank: int, cpus: float | None) -> None:
        """CPUs that the host may use; None: as many as before the first limit."""

    def throttled(self, rank: int) -> str:
        """How often and how long the host was held back, as the kernel counts it."""

    def num_oom_kills(self, rank: int) -> int:
        """Processes of the host that the kernel ended for want of memory."""

    def disconnect(self, rank: int) -> None:
        """Take the host off the management network."""

    def reconnect(self, rank: int) -> None:
        """Put it back; nothing where it is there."""

    def networks_of(self, rank: int) -> str:
        """Names of the networks that the host is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostContext:
    """What a fault outside the ranks may use, from any thread."""

    send_signal: Callable[[int, int], None]  # (rank, signal number)
    process_state: Callable[[int], str]  # rank -> letter of /proc/<pid>/stat
    engine: HostEngine | None = None  # None: hosts are not containers


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One row of the registry."""

    parameters: type[Parameters]
    proves: str  # one sentence for pages: what the fault does
    make_rank_fault: Callable[[Any, RankContext], RankFault | None]
    make_host_fault: Callable[[Any, HostContext], HostFault | None]
    make_fabric_fault: Callable[[Any], FabricFault] | None = None  # None: not of it
    needs_containers: bool = False  # of whole hosts: only with `runtime: docker`


def no_rank_fault(parameters: Any, context: RankContext) -> None:
    """For faults that act from outside only."""


def no_host_fault(parameters: Any, context: HostContext) -> None:
    """For faults that act inside the rank only."""
