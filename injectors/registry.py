"""All faults, as one literal dict: kind -> parameters and how it is made."""

from __future__ import annotations

from injectors.contention_neighbour import BusyNeighbour, ContentionNeighbour
from injectors.crash_exception import (
    CrashException,
    RaiseSelf,
    RaiseSelfProof,
)
from injectors.crash_exit import CrashExit, ExitSelf, ExitSelfProof
from injectors.crash_kill import CrashKill, KillHost
from injectors.crash_oom import CrashOom, EatMemory, OomProof
from injectors.crash_signal import CrashSignal, KillSelf, KillSelfProof
from injectors.fault import FaultKind, no_host_fault, no_rank_fault
from injectors.hang_backward import BlockedBackward, HangBackward
from injectors.hang_deadlock import Deadlock, HangDeadlock
from injectors.hang_equal_progress import HangEqualProgress, PausedTransport
from injectors.hang_extra_collective import ExtraCollective, HangExtraCollective
from injectors.hang_frozen import FreezeSelf, HangFrozen, Thaw
from injectors.hang_input import BlockedFetch, HangInput
from injectors.hang_mismatched_collective import (
    HangMismatchedCollective,
    MismatchedCollective,
)
from injectors.hang_pause import HangPause, PauseHost
from injectors.hang_skipped_collective import (
    HangSkippedCollective,
    SkippedCollective,
)
from injectors.link_carrier import (
    DeadSpine,
    LinkDown,
    LinkFlap,
    NoCarrier,
    SpineDown,
)
from injectors.link_loss import (
    LinkBlackhole,
    LinkBurst,
    LinkGray,
    LinkSize,
    LossyLink,
)
from injectors.network_disconnect import DisconnectHost, NetworkDisconnect
from injectors.null import Null, NullFault
from injectors.observer_kill import KillObserver, ObserverKill
from injectors.sdc_activation import SdcActivation, SdcActivationFault
from injectors.sdc_gradient import SdcGradient, make_sdc_gradient
from injectors.sdc_optimizer_state import SdcOptimizerState, SdcOptimizerStateFault
from injectors.sdc_parameter import SdcParameter, SdcParameterFault
from injectors.straggler_checkpoint import SlowSave, StragglerCheckpoint
from injectors.straggler_collective import SlowCollective, StragglerCollective
from injectors.straggler_compute import StragglerCompute, StragglerComputeFault
from injectors.straggler_cpu_quota import (
    StragglerCpuQuota,
    make_quota_of_host,
    make_quota_of_rank,
)
from injectors.straggler_input import SlowFetch, StragglerInput
from injectors.straggler_throttle import DutyCycle, StragglerThrottle
from injectors.traffic import (
    CompetingFlow,
    HostLoss,
    LossyHostLink,
    SpoofedMarks,
    TrafficCompeting,
    TrafficSpoofedMarks,
)
from injectors.trigger import TriggerAtStep

FAULTS: dict[str, FaultKind] = {
    "null": FaultKind(
        parameters=Null,
        proves="Everything of an injection except the fault: nobody may be blamed.",
        make_rank_fault=NullFault,
        make_host_fault=no_host_fault,
    ),
    "sdc.parameter": FaultKind(
        parameters=SdcParameter,
        proves="Stored weights of one rank read wrong.",
        make_rank_fault=SdcParameterFault,
        make_host_fault=no_host_fault,
    ),
    "sdc.gradient": FaultKind(
        parameters=SdcGradient,
        proves="A gradient of one rank is wrong, before or after its reduction.",
        make_rank_fault=make_sdc_gradient,
        make_host_fault=no_host_fault,
    ),
    "sdc.activation": FaultKind(
        parameters=SdcActivation,
        proves="A module's output, or the gradient at it, is wrong in one rank.",
        make_rank_fault=SdcActivationFault,
        make_host_fault=no_host_fault,
    ),
    "sdc.optimizer_state": FaultKind(
        parameters=SdcOptimizerState,
        proves="A slot of one rank's optimizer is wrong when the update reads it.",
        make_rank_fault=SdcOptimizerStateFault,
        make_host_fault=no_host_fault,
    ),
    "straggler.compute": FaultKind(
        parameters=StragglerCompute,
        proves="One rank is slow in the forward or backward pass of one layer.",
        make_rank_fault=StragglerComputeFault,
        make_host_fault=no_host_fault,
    ),
    "straggler.input": FaultKind(
        parameters=StragglerInput,
        proves="One rank's batches come late.",
        make_rank_fault=SlowFetch,
        make_host_fault=no_host_fault,
    ),
    "straggler.checkpoint": FaultKind(
        parameters=StragglerCheckpoint,
        proves="One rank writes its checkpoints slowly.",
        make_rank_fault=SlowSave,
        make_host_fault=no_host_fault,
    ),
    "straggler.collective": FaultKind(
        parameters=StragglerCollective,
        proves="One rank comes late to a collective, or holds it up inside.",
        make_rank_fault=SlowCollective,
        make_host_fault=no_host_fault,
    ),
    "straggler.throttle": FaultKind(
        parameters=StragglerThrottle,
        proves="One rank is stopped and let go in turns.",
        make_rank_fault=TriggerAtStep,
        make_host_fault=DutyCycle,
    ),
    "straggler.cpu_quota": FaultKind(
        parameters=StragglerCpuQuota,
        proves="A cgroup gives one rank less CPU time than it needs.",
        make_rank_fault=make_quota_of_rank,
        make_host_fault=make_quota_of_host,
    ),
    "contention.neighbour": FaultKind(
        parameters=ContentionNeighbour,
        proves="Processes spin beside the job: nobody may be blamed.",
        make_rank_fault=TriggerAtStep,
        make_host_fault=BusyNeighbour,
    ),
    "hang.frozen": FaultKind(
        parameters=HangFrozen,
        proves="One rank's process freezes in the middle of a step.",
        make_rank_fault=FreezeSelf,
        make_host_fault=Thaw,
    ),
    "hang.pause": FaultKind(
        parameters=HangPause,
        proves="A whole host freezes, its observers too.",
        make_rank_fault=TriggerAtStep,
        make_host_fault=PauseHost,
        needs_containers=True,
    ),
    "crash.kill": FaultKind(
        parameters=CrashKill,
        proves="Everything on a host ends at once.",
        make_rank_fault=TriggerAtStep,
        make_host_fault=KillHost,
        needs_containers=True,
    ),
    "crash.oom": FaultKind(
        parameters=CrashOom,
        proves="A rank needs more memory than its host has, and the kernel ends it.",
        make_rank_fault=EatMemory,
        make_host_fault=OomProof,
        needs_containers=True,
    ),
    "network.disconnect": FaultKind(
        parameters=NetworkDisconnect,
        proves="A host is off the management network: nobody may be blamed.",
        make_rank_fault=TriggerAtStep,
        make_host_fault=DisconnectHost,
        needs_containers=True,
    ),
    "hang.deadlock": FaultKind(
        parameters=HangDeadlock,
        proves="Two threads of one rank wait for each other's lock.",
        make_rank_fault=Deadlock,
        make_host_fault=no_host_fault,
    ),
    "hang.input": FaultKind(
        parameters=HangInput,
        proves="One rank's next batch does not come.",
        make_rank_fault=BlockedFetch,
        make_host_fault=no_host_fault,
    ),
    "hang.backward": FaultKind(
        parameters=HangBackward,
        proves="One rank blocks in the backward pass of one layer.",
        make_rank_fault=BlockedBackward,
        make_host_fault=no_host_fault,
    ),
    "hang.skipped_collective": FaultKind(
        parameters=HangSkippedCollective,
        proves="One rank leaves out a collective that its peers run.",
        make_rank_fault=SkippedCollective,
        make_host_fault=no_host_fault,
    ),
    "hang.extra_collective": FaultKind(
        parameters=HangExtraCollective,
        proves="One rank runs a collective more than its peers.",
        make_rank_fault=ExtraCollective,
        make_host_fault=no_host_fault,
    ),
    "hang.mismatched_collective": FaultKind(
        parameters=HangMismatchedCollective,
        proves="One call of one rank differs from its peers' in one field.",
        make_rank_fault=MismatchedCollective,
        make_host_fault=no_host_fault,
    ),
    "hang.equal_progress": FaultKind(
        parameters=HangEqualProgress,
        proves="One rank's transport stops, and all wait at one place.",
        make_rank_fault=PausedTransport,
        make_host_fault=no_host_fault,
    ),
    "crash.exit": FaultKind(
        parameters=CrashExit,
        proves="One rank's process ends with an exit code.",
        make_rank_fault=ExitSelf,
        make_host_fault=ExitSelfProof,
    ),
    "crash.signal": FaultKind(
        parameters=CrashSignal,
        proves="A signal kills one rank, and what it started if wanted.",
        make_rank_fault=KillSelf,
        make_host_fault=KillSelfProof,
    ),
    "crash.exception": FaultKind(
        parameters=CrashException,
        proves="An exception that nobody catches ends one rank.",
        make_rank_fault=RaiseSelf,
        make_host_fault=RaiseSelfProof,
    ),
    "observer.kill": FaultKind(
        parameters=ObserverKill,
        proves="One rank's observer dies: training goes on, and nobody is blamed.",
        make_rank_fault=KillObserver,
        make_host_fault=no_host_fault,
    ),
    "link.gray": FaultKind(
        parameters=LinkGray,
        proves="A directed link loses packets, each on its own.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=LossyLink,
    ),
    "link.burst": FaultKind(
        parameters=LinkBurst,
        proves="A directed link loses packets in runs.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=LossyLink,
    ),
    "link.size": FaultKind(
        parameters=LinkSize,
        proves="A directed link loses large packets only.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=LossyLink,
    ),
    "link.blackhole": FaultKind(
        parameters=LinkBlackhole,
        proves="A directed link loses everything and stays in the routing.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=LossyLink,
    ),
    "link.down": FaultKind(
        parameters=LinkDown,
        proves="A link has no carrier and leaves the routing: nobody may be blamed.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=NoCarrier,
    ),
    "link.flap": FaultKind(
        parameters=LinkFlap,
        proves="A link's carrier comes and goes: nobody may be blamed.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=NoCarrier,
    ),
    "spine.down": FaultKind(
        parameters=SpineDown,
        proves="A spine switch dies, noticed by its neighbours or not.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=DeadSpine,
    ),
    "host.loss": FaultKind(
        parameters=HostLoss,
        proves="A link between host and leaf loses packets: no spine is blamed.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=LossyHostLink,
    ),
    "traffic.competing": FaultKind(
        parameters=TrafficCompeting,
        proves="Another job's flow fills the queues: nobody may be blamed.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=CompetingFlow,
    ),
    "traffic.spoofed_marks": FaultKind(
        parameters=TrafficSpoofedMarks,
        proves="A host marks packets as if they were measured: they must not count.",
        make_rank_fault=no_rank_fault,
        make_host_fault=no_host_fault,
        make_fabric_fault=SpoofedMarks,
    ),
}
