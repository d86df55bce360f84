"""A slot is wrong when the update reads it, and the update carries it on."""

from __future__ import annotations

from typing import Any

from injectors.rank_driver import RankDriver
from injectors.sdc_optimizer_state import SdcOptimizerState
from tests.injectors.small import Job
from vocab.events import FaultFailed, FaultHealed, FaultInjected

NAME = "blocks.0.second.weight"


def drive(steps: int = 4, **fields: Any) -> tuple[Job, list[float]]:
    """A job under the fault, and what each of its updates read of one element."""
    job = Job()
    given = {
        "kind": "sdc.optimizer_state",
        "rank": 0,
        "at_step": 3,
        "parameter": NAME,
        "slot": "exp_avg",
        "element": 2,
        "pattern": "set",
        "value": 0.25,
    }
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    fault = SdcOptimizerState(**{**given, **fields})
    driver.attach([("a", fault)], job.model, job.optimizer, job.layers)
    seen: list[float] = []
    state = job.optimizer.state
    parameter = job.model.get_parameter(NAME)
    job.optimizer.register_step_pre_hook(
        lambda *_: seen.append(
            float(state[parameter]["exp_avg"].view(-1)[2]) if parameter in state else 0
        )
    )
    for _ in range(steps):
        job.step()
    driver.finish()
    return job, seen


def test_the_update_reads_the_wrong_value_and_carries_it_on() -> None:
    plain = Job()
    for _ in range(4):
        plain.step()
    job, seen = drive(lifetime="one-shot")
    assert seen[2] == 0.25
    assert seen[3] != 0.25
    assert NAME in job.differing(plain.weights())
    injected, healed = job.events
    assert isinstance(injected, FaultInjected)
    assert injected.changes[0].what == f"{NAME}.exp_avg[2] set to 0.25"
    assert isinstance(healed, FaultHealed)
    assert healed.residue == f"{NAME}.exp_avg went into the weights"


def test_a_persistent_one_strikes_every_update() -> None:
    job, seen = drive()
    assert seen[2:] == [0.25, 0.25]
    assert isinstance(job.events[1], FaultHealed)
    assert job.events[1].num_strikes == 2


def test_before_the_first_update_there_is_nothing_to_strike() -> None:
    job, _ = drive(at_step=1)
    [failed] = job.events
    assert isinstance(failed, FaultFailed)
    assert "before its first update" in failed.reason


def test_a_slot_that_is_not_there_is_named_with_those_that_are() -> None:
    job, _ = drive(slot="momentum")
    [failed] = job.events
    assert isinstance(failed, FaultFailed)
    assert "allowed: exp_avg, exp_avg_sq" in failed.reason


def test_the_slot_is_drawn_from_the_seed_where_none_is_named() -> None:
    whats = set()
    for _ in range(2):
        injected = drive(slot=None)[0].events[0]
        assert isinstance(injected, FaultInjected)
        whats.add(injected.changes[0].what)
    assert len(whats) == 1
