"""What a fault does to the fabric, and what the fabric shows of it: values only.

    FabricFault.effect(step) ─► Effect ─► whoever carries the job's packets
                prove(trace)  ◄─ FabricTrace ◄─┘

Shared by the faults of links, spines and traffic, and by every fabric that carries
them out; the same for each data plane, for it happens on the links (DESIGN sec. 7).
Names are those of `vocab.names`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoses:
    """A directed link loses packets, each on its own or in runs."""

    link: str  # leaf0-spine3:up
    drop_frac: float  # of the packets concerned; 1: a black hole
    mean_burst_pkts: float = 1.0  # above 1: losses come in runs of this mean length
    min_bytes: int = 0  # smaller packets pass


@dataclass(frozen=True, slots=True, kw_only=True)
class CarrierLost:
    """Links without carrier: they leave the routing, and nothing is lost on them."""

    links: tuple[str, ...]  # whole links: leaf0-spine3


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineDies:
    """A spine switch forwards nothing any more."""

    spine: int
    is_routed: bool  # its neighbours do not notice, and go on to send over it


@dataclass(frozen=True, slots=True, kw_only=True)
class Competes:
    """Another job's unmeasured flow between two leaves."""

    source_leaf: int
    target_leaf: int
    load_frac: float  # of the uplinks of the source leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoses:
    """A link between a host and its leaf loses packets; no spine is concerned."""

    host: int
    direction: str  # up: host to leaf; down: leaf to host
    drop_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoofsMarks:
    """A host marks packets of its own as if they belonged to the measured flow."""

    source_leaf: int
    target_leaf: int
    num_packets: int  # each step


Effect = LinkLoses | CarrierLost | SpineDies | Competes | HostLoses | SpoofsMarks


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricTrace:
    """What can be seen on the fabric itself after one step; packets."""

    step: int
    carried: Mapping[str, int] = field(default_factory=dict)  # by directed link
    lost: Mapping[str, int] = field(default_factory=dict)  # of those; absent: none
    without_carrier: frozenset[str] = frozenset()  # whole links
    competing: int = 0  # packets of other jobs that arrived
    lost_at_hosts: Mapping[str, int] = field(default_factory=dict)  # host0:down
    spoofed_sent: int = 0
    spoofed_counted: int = 0  # by the target leaf, as if measured
