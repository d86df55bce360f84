"""Which s the leaves of a simulated fabric compare with (SprayCheck sec. 5.3).

    calibrations.json ─► is the key there? ─► Sensitivity
                             └ no: sample healthy flows now, fewer of them

The file is of *our* simulated fabric, made by `faultyard calibrate`; what is true of a
user's switches must be measured there. A sample shows false alarms down to about
1 in its flows; for rarer ones s comes from the sample's variance by the normal
approximation, and the larger of the two is used. Called by `simulated` and `replay`.
"""

from __future__ import annotations

from pathlib import Path

from harness.fabric.settings import SimulatedFabric
from spraycheck.calibrate import Calibration, Key, calibrate
from spraycheck.calibration_file import find, load
from spraycheck.errors import CalibrationError
from spraycheck.simulator import Sprayed, spray_counts
from spraycheck.ztest import sensitivity
from vocab.fabric_events import Sensitivity

SHIPPED = Path(__file__).resolve().parent / "calibrations.json"
PACKETS_PER_SPINE = 10_000
NUM_FLOWS = 2_000  # of the file; at the start of a run:
NUM_FLOWS_NOW = 300
_LEAST_VARIANCE = 1e-3  # where queues decide all, a packet more or less is no loss


def keys_of(settings: SimulatedFabric) -> tuple[Key, ...]:
    """Every k that may occur: all spines, and up to two links less."""
    least = max(2, settings.spines - 2)
    return tuple(
        Key(
            policy=settings.policy,
            num_spines=num_spines,
            load=settings.load,
            burst_pkts=settings.burst_pkts,
        )
        for num_spines in range(least, settings.spines + 1)
    )


def sensitivities(settings: SimulatedFabric) -> tuple[Sensitivity, ...]:
    """One for each k, from the file or sampled now.

    Raises:
        CalibrationError: the file is damaged.
    """
    shipped = load(SHIPPED.read_text("utf-8")) if SHIPPED.exists() else ()
    return tuple(
        choose(_of(key, shipped), settings.false_alarm) for key in keys_of(settings)
    )


def sample(key: Key, *, num_flows: int) -> Calibration:
    """Play that many healthy flows, and find the s at which one in them would fail."""
    num_packets = PACKETS_PER_SPINE * key.num_spines
    flows = Sprayed(
        num_spines=key.num_spines,
        num_packets=num_packets,
        load=key.load,
        policy=key.policy,
        burst_pkts=key.burst_pkts,
    )
    counts = spray_counts(flows, range(num_flows))
    return calibrate(counts, num_packets, key=key, false_alarm=1 / num_flows)


def choose(found: Calibration, false_alarm: float) -> Sensitivity:
    """s for a wanted rate, from a sample that may be too small to show that rate."""
    variance = max(found.variance_ratio, _LEAST_VARIANCE)
    beyond = sensitivity(false_alarm, variance, found.key.num_spines)
    return Sensitivity(
        num_spines=found.key.num_spines,
        s=max(found.sensitivity, beyond),
        false_alarm=false_alarm,
        sampled_s=found.sensitivity,
        num_alarms=found.false_alarm.k,
        num_flows=found.false_alarm.n,
        num_packets=found.num_packets,
        variance_ratio=variance,
    )


def _of(key: Key, shipped: tuple[Calibration, ...]) -> Calibration:
    try:
        return find(shipped, key)
    except CalibrationError:
        return sample(key, num_flows=NUM_FLOWS_NOW)
