"""All state of a simulation as arrays of records, made from a `SimulatorConfig`.

Called by `run`; the kernels read and write it. Holds no packet that is not in the
network, so its size does not depend on how many packets are sent. Times are integer
picoseconds: an exact order of events, the same on every machine.

    port   uplink leaf*K + spine · downlink L*K + leaf*K + spine · host 2*L*K + host
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spraycheck.dataplane.spray import POLICIES
from spraycheck.simulator.config import Flow, SimulatorConfig
from spraycheck.simulator.draws import key_of
from spraycheck.simulator.loss import FOREVER_NS, LinkLoss
from vocab.names import Direction, Link

PS_PER_NS = 1_000
NEVER = 1 << 46  # picoseconds; later than any limit
BITS_PS = 8_000  # picoseconds of one byte at 1 Gbit/s
NUM_BINS = 24  # of reordering: 0, 1, 2-3, 4-7, ...
NO_LOSS, EACH, BURST = range(3)
NONE = -1

Record = np.void  # one row; kernels get a reference, numpy and numba alike
Records = NDArray[np.void]

PORT = np.dtype(
    [
        ("free_at", "i8"),  # end of the packet in service; with one class: of all
        ("wait_low", "i8"),  # ps of work that waits, where there are two classes
        ("wait_high", "i8"),
        ("byte_ps", "f8"),
        ("delay", "i8"),
        # Queue: records of packets; only where there are two classes.
        ("head_low", "i8"),
        ("tail_low", "i8"),
        ("head_high", "i8"),
        ("tail_high", "i8"),
        ("serving_high", "i8"),
        ("virtual_at", "i8"),  # end of the measured packets, were they alone
        ("serve_due", "i8"),
        # Statistics.
        ("num_pkts", "i8"),
        ("sum_wait", "i8"),
        ("max_backlog", "i8"),
        ("num_lost", "i8"),  # by the link behind it
        # Loss.
        ("loss", "i8"),
        ("drop_frac", "f8"),
        ("enter_bad", "f8"),
        ("leave_bad", "f8"),
        ("min_bytes", "i8"),
        ("from_ps", "i8"),
        ("until_ps", "i8"),
        ("is_bad", "i8"),
        ("num_steps", "i8"),
        ("key", "u8"),
    ],
    align=True,
)
FLOW = np.dtype(
    [
        ("key", "u8"),
        ("source_leaf", "i8"),
        ("target_leaf", "i8"),
        ("source_host", "i8"),
        ("target_host", "i8"),
        ("num_packets", "i8"),
        ("packet_bytes", "i8"),
        ("num_usable", "i8"),
        ("is_high", "i8"),
        ("poisson", "i8"),
        ("burst_pkts", "i8"),
        ("gap_ps", "f8"),  # between packets, or bursts over their packets
        ("num_blockers", "i8"),
        ("first_waiter", "i8"),  # flows that start after this one
        ("num_waiters", "i8"),
        ("first_ps", "f8"),  # from its host's start to its leaf
        ("next_send", "f8"),
        ("burst_start", "f8"),
        ("burst_sent", "i8"),
        ("next_seq", "i8"),
        ("num_sent", "i8"),
        ("num_resent", "i8"),
        ("num_delivered", "i8"),
        ("num_lost", "i8"),
        ("num_overflowed", "i8"),
        ("pending_head", "i8"),  # lost packets that wait to be sent again
        ("pending_tail", "i8"),
        ("counted_at", "i8"),
        ("delivered_at", "i8"),
        ("highest_seq", "i8"),
        ("max_extent", "i8"),
        # DCQCN.
        ("rate", "f8"),
        ("target_rate", "f8"),
        ("top_rate", "f8"),
        ("alpha", "f8"),
        ("next_decay", "i8"),
        ("next_rise", "i8"),
        ("num_rises", "i8"),
        ("notified_at", "i8"),
        ("num_notices", "i8"),
    ],
    align=True,
)
HOST = np.dtype(
    [
        ("first_flow", "i8"),
        ("num_flows", "i8"),
        ("turn", "i8"),
        ("nic_free", "f8"),
        ("wake", "i8"),  # when it sends next: `next_flow`, in `next_slot`
        ("next_flow", "i8"),
        ("next_slot", "f8"),
        ("next_turn", "i8"),
    ],
    align=True,
)
LEAF = np.dtype([("two_classes", "i8"), ("turn", "i8")], align=True)
PACKET = np.dtype(
    [
        ("flow", "i8"),
        ("seq", "i8"),
        ("index", "i8"),  # transmission of its flow
        ("spine", "i8"),
        ("sent_at", "i8"),
        ("resend_at", "i8"),
        ("resent", "i8"),
        ("marked", "i8"),
        ("next", "i8"),
    ],
    align=True,
)
FABRIC = np.dtype(
    [
        ("num_leaves", "i8"),
        ("num_spines", "i8"),
        ("policy", "i8"),
        ("queue_bytes", "i8"),
        ("sees_virtual", "i8"),
        ("host_byte_ps", "f8"),
        ("resend_after", "i8"),
        ("limit", "i8"),
        ("feedback", "i8"),
        ("dcqcn", "i8"),
        ("mark_from", "f8"),
        ("mark_all", "f8"),
        ("mark_most", "f8"),
        ("notify_every", "i8"),
        ("decay_every", "i8"),
        ("rise_every", "i8"),
        ("gain", "f8"),
        ("fast_rises", "i8"),
        ("add", "f8"),
        ("hyper", "f8"),
        ("least", "f8"),
        ("free_head", "i8"),  # packet records
        ("num_fresh", "i8"),
        ("num_live", "i8"),
        ("heap_size", "i8"),
        ("num_pushed", "i8"),
        ("num_traced", "i8"),
        ("now", "i8"),
        ("tie_key", "u8"),
    ],
    align=True,
)
EVENT = np.dtype([("key", "i8"), ("item", "i8")], align=True)
TRACE = np.dtype(
    [("at", "i8"), ("flow", "i8"), ("seq", "i8"), ("spine", "i8")], align=True
)


class World(NamedTuple):
    """Everything the kernels touch."""

    fabric: Records  # (1,)
    leaves: Records  # (L,)
    hosts: Records
    ports: Records
    flows: Records
    host_flows: NDArray[np.int64]  # flow numbers, by host
    usable: NDArray[np.int64]  # (flows, K) spines, the first num_usable of each row
    waiters: NDArray[np.int64]  # flow numbers, by the flow they start after
    counts: NDArray[np.int64]  # (flows, K)
    extents: NDArray[np.int64]  # (flows, NUM_BINS)
    trace: Records
    packets: Records
    heap: Records

    @property
    def num_bytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self)


def make_world(config: SimulatorConfig, seed: int) -> World:
    """The state before the first packet."""
    graph = config.fabric.graph
    num_flows, num_spines = len(config.flows), graph.num_spines
    flows, usable = _flows(config, seed)
    order = sorted(
        range(num_flows), key=lambda number: config.flows[number].source_host
    )
    waits = sorted((b, a) for a, flow in enumerate(config.flows) for b in flow.after)
    flows["num_waiters"] = np.bincount(
        np.array([blocker for blocker, _ in waits], dtype=np.int64), minlength=num_flows
    )
    flows["first_waiter"] = np.cumsum(flows["num_waiters"]) - flows["num_waiters"]
    num_events = 2 * (num_flows + graph.num_hosts) + 1024
    return World(
        fabric=_fabric(config, seed),
        leaves=_leaves(config, flows),
        hosts=_hosts(config),
        ports=_ports(config, seed),
        flows=flows,
        host_flows=np.array(order, dtype=np.int64),
        usable=usable,
        waiters=np.array([waiter for _, waiter in waits], dtype=np.int64),
        counts=np.zeros((num_flows, num_spines), dtype=np.int64),
        extents=np.zeros((num_flows, NUM_BINS), dtype=np.int64),
        trace=np.zeros(config.trace_packets, dtype=TRACE),
        packets=np.zeros(1024, dtype=PACKET),
        heap=np.zeros(num_events, dtype=EVENT),
    )


def grown(world: World) -> World:
    """The same state with room for twice the packets and events."""
    return world._replace(
        packets=np.concatenate((world.packets, np.zeros_like(world.packets))),
        heap=np.concatenate((world.heap, np.zeros_like(world.heap))),
    )


def port_of(config: SimulatorConfig, link: Link) -> int:
    """The port that sends into a directed link."""
    graph = config.fabric.graph
    port = link.leaf * graph.num_spines + link.spine
    down = link.direction is Direction.DOWN
    return port + graph.num_leaves * graph.num_spines * down


def _fabric(config: SimulatorConfig, seed: int) -> Records:
    row = np.zeros(1, dtype=FABRIC)
    fabric = config.fabric
    row["num_leaves"] = fabric.graph.num_leaves
    row["num_spines"] = fabric.graph.num_spines
    row["policy"] = POLICIES.index(fabric.policy)
    row["queue_bytes"] = fabric.queue_bytes
    row["sees_virtual"] = fabric.virtual_queues
    row["host_byte_ps"] = BITS_PS / fabric.host_gbps
    row["resend_after"] = config.retransmit_after_ns * PS_PER_NS
    row["limit"] = config.limit_ns * PS_PER_NS
    # Notices and acknowledgements go back over four links in the top class.
    row["feedback"] = 4 * fabric.delay_ns * PS_PER_NS
    row["free_head"] = NONE
    row["tie_key"] = _key(seed, -2)
    if (dcqcn := config.dcqcn) is not None:
        row["dcqcn"] = 1
        row["mark_from"] = dcqcn.mark_from_bytes
        row["mark_all"] = dcqcn.mark_all_bytes
        row["mark_most"] = dcqcn.mark_most_frac
        row["notify_every"] = dcqcn.notify_every_ns * PS_PER_NS
        row["decay_every"] = dcqcn.decay_every_ns * PS_PER_NS
        row["rise_every"] = dcqcn.rise_every_ns * PS_PER_NS
        row["gain"] = dcqcn.gain
        row["fast_rises"] = dcqcn.fast_rises
        row["add"] = dcqcn.add_gbps
        row["hyper"] = dcqcn.hyper_gbps
        row["least"] = dcqcn.least_gbps
    return row


def _leaves(config: SimulatorConfig, flows: Records) -> Records:
    """Whether a leaf has a measured flow beside others: else one class does."""
    leaves = np.zeros(config.fabric.graph.num_leaves, dtype=LEAF)
    for leaf in range(len(leaves)):
        classes = flows["is_high"][flows["source_leaf"] == leaf]
        leaves["two_classes"][leaf] = len(np.unique(classes)) == 2
    return leaves


def _hosts(config: SimulatorConfig) -> Records:
    hosts = np.zeros(config.fabric.graph.num_hosts, dtype=HOST)
    senders = np.array([flow.source_host for flow in config.flows])
    hosts["num_flows"] = np.bincount(senders, minlength=len(hosts))
    hosts["first_flow"] = np.cumsum(hosts["num_flows"]) - hosts["num_flows"]
    hosts["wake"] = NEVER
    return hosts


def _ports(config: SimulatorConfig, seed: int) -> Records:
    fabric, graph = config.fabric, config.fabric.graph
    num_links = 2 * graph.num_leaves * graph.num_spines
    ports = np.zeros(num_links + graph.num_hosts, dtype=PORT)
    ports["byte_ps"][:num_links] = BITS_PS / fabric.link_gbps
    ports["byte_ps"][num_links:] = BITS_PS / fabric.host_gbps
    ports["delay"] = fabric.delay_ns * PS_PER_NS
    for name in ("head_low", "tail_low", "head_high", "tail_high"):
        ports[name] = NONE
    for delay in fabric.delays:
        ports["delay"][port_of(config, delay.link)] += delay.extra_ns * PS_PER_NS
    for loss in config.losses:
        port = port_of(config, loss.link)
        _set_loss(ports[port : port + 1], loss, _key(seed, -3 - port))
    return ports


def _set_loss(port: Records, loss: LinkLoss, key: int) -> None:
    port["loss"] = BURST if loss.is_burst else EACH
    port["drop_frac"] = loss.drop_frac
    port["enter_bad"] = loss.enter_bad
    port["leave_bad"] = loss.leave_bad
    port["min_bytes"] = loss.min_bytes
    port["from_ps"] = loss.from_ns * PS_PER_NS
    until = FOREVER_NS if loss.until_ns is None else loss.until_ns * PS_PER_NS
    port["until_ps"] = until
    port["key"] = key


def _flows(config: SimulatorConfig, seed: int) -> tuple[Records, NDArray[np.int64]]:
    fabric, graph = config.fabric, config.fabric.graph
    flows = np.zeros(len(config.flows), dtype=FLOW)
    usable = np.zeros((len(flows), graph.num_spines), dtype=np.int64)
    for number, flow in enumerate(config.flows):
        row = flows[number : number + 1]
        row["key"] = _key(seed, number)
        row["source_leaf"] = graph.leaf_of_host(flow.source_host)
        row["target_leaf"] = graph.leaf_of_host(flow.target_host)
        row["is_high"] = flow.measured and fabric.prioritize
        row["num_blockers"] = len(flow.after)
        paths = graph.paths(int(row["source_leaf"][0]), int(row["target_leaf"][0]))
        row["num_usable"] = len(paths)
        usable[number, : len(paths)] = [path.spine for path in paths]
        _set_sending(row, flow, fabric.host_gbps, fabric.delay_ns)
        if config.dcqcn is not None:
            row["next_decay"] = config.dcqcn.decay_every_ns * PS_PER_NS
            row["next_rise"] = config.dcqcn.rise_every_ns * PS_PER_NS
            row["notified_at"] = -config.dcqcn.notify_every_ns * PS_PER_NS
    return flows, usable


def _set_sending(row: Records, flow: Flow, host_gbps: float, delay_ns: int) -> None:
    for name in ("source_host", "target_host", "num_packets", "packet_bytes"):
        row[name] = getattr(flow, name)
    rate = host_gbps if flow.rate_gbps is None else flow.rate_gbps
    row["rate"] = row["target_rate"] = row["top_rate"] = rate
    row["alpha"] = 1.0
    row["poisson"] = flow.arrivals == "poisson"
    row["burst_pkts"] = flow.burst_pkts
    row["gap_ps"] = flow.packet_bytes * BITS_PS / rate
    # Times of a flow are those at its leaf: the host's link adds the same to all.
    row["first_ps"] = flow.packet_bytes * BITS_PS / host_gbps + delay_ns * PS_PER_NS
    row["next_send"] = flow.start_ns * PS_PER_NS + row["first_ps"]
    row["highest_seq"] = row["pending_head"] = row["pending_tail"] = NONE
    row["counted_at"] = row["delivered_at"] = NONE


def _key(seed: int, number: int) -> int:
    return int(key_of(np.uint64(seed), number))
