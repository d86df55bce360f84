"""The model switch, fed with the simulator's packets, gives the same counts, verdicts.

Same packets, two implementations: a simulated flow's arrivals go to `ModelLeaf`.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from spraycheck.dataplane.base import LastPacketSeen, Packet
from spraycheck.dataplane.model import ModelLeaf
from spraycheck.dataplane.spray import Sprayer
from spraycheck.report import ThresholdComputed
from spraycheck.simulator.config import FabricConfig, SimulatorConfig
from spraycheck.simulator.loss import LinkLoss
from spraycheck.simulator.run import simulate
from spraycheck.simulator.traffic import ring
from spraycheck.ztest import judge, threshold
from vocab.graph import LeafSpine
from vocab.names import Direction, Link

GRAPH = LeafSpine(num_leaves=2, num_spines=4)
NUM_PACKETS, SENSITIVITY, QP = 20_000, 1.5, 77


@pytest.mark.parametrize("drop_frac", [None, 0.03])
def test_the_model_counts_the_simulated_packets_alike(drop_frac: float | None) -> None:
    lossy = Link(0, 2, Direction.UP)
    config = SimulatorConfig(
        fabric=FabricConfig(graph=GRAPH, host_gbps=390.0),
        flows=ring(GRAPH, num_packets=NUM_PACKETS, num_qps=1),
        losses=(LinkLoss(link=lossy, drop_frac=drop_frac),) if drop_frac else (),
        trace_packets=3 * NUM_PACKETS,
    )
    result = simulate(config, 4)
    leaf = ModelLeaf(
        leaf=1,
        graph=GRAPH,
        sprayer=Sprayer(policy="jsq2", num_spines=4, rate_gbps=100, rng=Random(1)),
    )
    limit = threshold(NUM_PACKETS, 4, SENSITIVITY)
    leaf.write_threshold(
        ThresholdComputed(
            dest_qp=QP,
            threshold_pkts=int(np.ceil(limit)),
            first_psn=0,
            last_psn=NUM_PACKETS - 1,
            num_packets=NUM_PACKETS,
        )
    )
    assert result.arrivals is not None
    arrivals = result.arrivals
    for at_ns, flow, seq, spine in zip(
        arrivals.at_ns, arrivals.flow, arrivals.seq, arrivals.spine, strict=True
    ):
        if flow == 0:
            packet = Packet(target_leaf=1, dest_qp=QP, psn=int(seq), marked=True)
            leaf.receive(packet, int(spine), int(at_ns))
    registers = leaf.read(QP)
    assert registers.counts == tuple(result.counts[0])
    assert LastPacketSeen(dest_qp=QP) in leaf.drain()
    verdict = judge(registers.counts, NUM_PACKETS, SENSITIVITY)
    assert verdict.failed == ((2,) if drop_frac else ())
    # A few packets come after the last one; the latched bitmap does not change by them.
    assert registers.failed == tuple(spine in verdict.failed for spine in range(4))
