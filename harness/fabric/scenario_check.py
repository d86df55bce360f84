"""Whether a scenario's fabric and its faults fit each other and the job. Pure.

Called by `scenario` beside its other cross-checks; yields flaws as it does: place,
message, bad value, what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from harness.fabric.settings import SimulatedFabric
from injectors.fault import FabricParameters
from injectors.link_carrier import LinkDown, LinkFlap, SpineDown
from injectors.link_loss import LosingLink
from injectors.traffic import BetweenLeaves, HostLoss
from vocab.errors import InvalidName
from vocab.graph import LeafSpine
from vocab.names import parse_link

Flaw = tuple[tuple[str | int, ...], str, str, str]
Fabric = SimulatedFabric | Literal["none"]


def fabric_flaws(
    fabric: Fabric,
    faults: Sequence[tuple[str, FabricParameters]],
    *,
    num_ranks: int,
    restarts: int,
    positions: Mapping[str, int],
) -> Iterator[Flaw]:
    """What is wrong with the fabric, and with each of its faults."""
    if fabric == "none":
        for fault_id, fault in faults:
            place = ("faults", positions[fault_id], "kind")
            yield place, "needs a fabric", repr(fault.kind), "only beside a fabric"
        return
    leaves = fabric.leaves or num_ranks
    if leaves != num_ranks:
        yield (("fabric", "leaves"), "must be the number of ranks: one on each leaf",
               str(leaves), str(num_ranks))  # fmt: skip
        return
    if num_ranks < 2 or num_ranks & (num_ranks - 1):
        yield (("workload", "parallel", "replicate"),
               "halving-doubling over a fabric needs a power of 2", str(num_ranks),
               "2, 4, 8, 16, 32 or 64")  # fmt: skip
        return
    if restarts:
        yield (("restarts",), "are not offered with a fabric", str(restarts), "0")
    yield from link_flaws(fabric, fabric.disabled, num_ranks, ("fabric", "disabled"))
    graph = fabric.graph(num_ranks)
    taken: set[str] = set()
    for fault_id, fault in faults:
        here = ("faults", positions[fault_id])
        yield from _fault_flaws(graph, fault, here)
        if isinstance(fault, LosingLink):
            if fault.link in taken:
                yield ((*here, "link"), "is struck by another fault, too", fault.link,
                       "one loss for each directed link")  # fmt: skip
            taken.add(fault.link)


def link_flaws(
    fabric: Fabric, names: Sequence[str], num_ranks: int, place: tuple[str | int, ...]
) -> Iterator[Flaw]:
    """Names that are no links of the fabric."""
    if fabric == "none":
        return
    graph = fabric.graph(num_ranks)
    for name in names:
        yield from _link_flaw(graph, name, place)


def _fault_flaws(
    graph: LeafSpine, fault: FabricParameters, here: tuple[str | int, ...]
) -> Iterator[Flaw]:
    last_leaf, last_spine = graph.num_leaves - 1, graph.num_spines - 1
    match fault:
        case LosingLink() | LinkDown() | LinkFlap():
            yield from _link_flaw(graph, fault.link, (*here, "link"))
        case SpineDown(spine=spine) if spine > last_spine:
            yield (*here, "spine"), "no such spine", str(spine), f"0..{last_spine}"
        case HostLoss(host=host) if host > last_leaf:
            yield (*here, "host"), "no rank's host", str(host), f"0..{last_leaf}"
        case BetweenLeaves(source_leaf=source, target_leaf=target):
            for name, leaf in (("source_leaf", source), ("target_leaf", target)):
                if leaf > last_leaf:
                    yield (*here, name), "no such leaf", str(leaf), f"0..{last_leaf}"
            if source == target:
                yield ((*here, "target_leaf"), "is the source leaf", str(target),
                       "another leaf")  # fmt: skip


def _link_flaw(
    graph: LeafSpine, name: str, place: tuple[str | int, ...]
) -> Iterator[Flaw]:
    allowed = (
        f"leaf0..leaf{graph.num_leaves - 1} and spine0..spine{graph.num_spines - 1}, "
        "such as leaf0-spine1:up"
    )
    try:
        link = parse_link(name)
    except InvalidName as error:
        yield place, str(error), repr(name), allowed
        return
    if link.leaf >= graph.num_leaves or link.spine >= graph.num_spines:
        yield place, "no such link", repr(name), allowed
