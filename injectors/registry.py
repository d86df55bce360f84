"""All faults, as one literal dict: kind -> parameters and how it is made."""

from __future__ import annotations

from injectors.fault import FaultKind, no_host_fault
from injectors.hang_frozen import FreezeSelf, HangFrozen, Thaw
from injectors.null import Null, NullFault
from injectors.sdc_parameter import SdcParameter, SdcParameterFault
from injectors.straggler_compute import StragglerCompute, StragglerComputeFault

FAULTS: dict[str, FaultKind] = {
    "null": FaultKind(
        parameters=Null,
        proves="Everything of an injection except the fault: nobody may be blamed.",
        make_rank_fault=NullFault,
        make_host_fault=no_host_fault,
    ),
    "sdc.parameter": FaultKind(
        parameters=SdcParameter,
        proves="One bit of one parameter of one rank reads wrong.",
        make_rank_fault=SdcParameterFault,
        make_host_fault=no_host_fault,
    ),
    "straggler.compute": FaultKind(
        parameters=StragglerCompute,
        proves="One rank is slow in the forward or backward pass of one layer.",
        make_rank_fault=StragglerComputeFault,
        make_host_fault=no_host_fault,
    ),
    "hang.frozen": FaultKind(
        parameters=HangFrozen,
        proves="One rank's process freezes in the middle of a step.",
        make_rank_fault=FreezeSelf,
        make_host_fault=Thaw,
    ),
}
