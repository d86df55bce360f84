"""Faults of a rank strike and heal at the right moments of real training steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from injectors.fault import RankParameters
from injectors.null import Null
from injectors.rank_driver import RankDriver
from injectors.sdc_parameter import SdcParameter
from injectors.straggler_input import StragglerInput
from tests.injectors.small import Job
from vocab.events import FaultFailed, FaultHealed, FaultInjected


def drive(
    *faults: RankParameters, job: Job | None = None, steps: int = 8, rank: int = 0
) -> Job:
    job = job or Job()
    driver = RankDriver(rank=rank, seed=job.seed, emit=job.events.append)
    named = [(f"fault-{index}", fault) for index, fault in enumerate(faults)]
    driver.attach(named, job.model, job.optimizer, job.layers)
    for _ in range(steps):
        job.step()
    driver.finish()
    return job


def null(**fields: Any) -> Null:
    return Null(**{"kind": "null", "rank": 0, "at_step": 3, **fields})


def sdc(**fields: Any) -> SdcParameter:
    return SdcParameter(
        **{"kind": "sdc.parameter", "rank": 0, "at_step": 3, "stuck_bit": 12, **fields}
    )


def summary(job: Job) -> list[tuple[str, int | None]]:
    return [
        (type(event).__name__, event.step)
        for event in job.events
        if isinstance(event, (FaultInjected, FaultHealed))
    ]


def strikes(job: Job) -> int:
    [healed] = [event for event in job.events if isinstance(event, FaultHealed)]
    return healed.num_strikes


@pytest.mark.parametrize("make", [null, sdc])
def test_a_fault_is_reported_once_when_it_strikes_and_once_when_it_heals(
    make: Any,
) -> None:
    job = drive(make(until_step=5))
    assert [name for name, _ in summary(job)] == ["FaultInjected", "FaultHealed"]
    assert summary(job)[0] == ("FaultInjected", 3)
    assert strikes(job) == 3


def test_the_report_carries_label_colour_target_and_proof() -> None:
    job = drive(sdc(until_step=3, parameter="head.bias", element=0))
    injected = job.events[0]
    assert isinstance(injected, FaultInjected)
    assert (injected.label, injected.color) == ("SDC: wrong parameter", "#d62728")
    assert injected.targets == ("rank0",)
    [change] = injected.changes
    before, after = (int(text.split()[0], 16) for text in (change.before, change.after))
    assert before ^ after == 1 << 12


def test_a_persistent_fault_heals_when_the_run_ends() -> None:
    job = drive(null(), steps=6)
    assert summary(job) == [("FaultInjected", 3), ("FaultHealed", 6)]
    assert strikes(job) == 4


def test_a_one_shot_strikes_once() -> None:
    job = drive(sdc(lifetime="one-shot"))
    assert strikes(job) == 1
    healed = job.events[1]
    assert isinstance(healed, FaultHealed)
    assert "stays changed" in healed.residue


def test_a_fault_whose_step_is_never_reached_says_nothing() -> None:
    assert drive(null(at_step=9), steps=8).events == []


def test_faults_of_other_ranks_are_not_ours() -> None:
    assert drive(null(rank=1)).events == []
    assert len(drive(null(rank=1), rank=1).events) == 2


def test_stored_weights_stay_healthy_under_a_persistent_bit() -> None:
    """The update sees the healthy bit, so healing leaves nothing of the bit itself."""
    job = Job()
    seen: list[bool] = []
    plain = Job()

    def watch(*_: Any) -> None:
        seen.append(job.differing(plain.weights()) == [])

    # Registered after the driver's own hook: the fault is lifted by then.
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    fault = sdc(parameter="head.bias", element=0, stuck_bit=0, until_step=3)
    driver.attach([("a", fault)], job.model, job.optimizer, job.layers)
    job.optimizer.register_step_pre_hook(watch)
    for _ in range(3):
        job.step()
        plain.step()
    assert seen == [True, True, True]
    assert job.differing(plain.weights()) == ["head.bias"]  # struck after update 3
    driver.finish()
    assert job.differing(plain.weights()) == []


def test_an_intermittent_fault_rests_between_strikes() -> None:
    fault = null(at_step=1, lifetime="intermittent", probability=0.5)
    job = drive(fault, steps=40)
    assert 8 < strikes(job) < 32  # 40 draws of 0.5; the seed is fixed
    assert [name for name, _ in summary(job)] == ["FaultInjected", "FaultHealed"]


def test_micro_batches_of_one_step_are_one_step() -> None:
    import torch

    job = Job()
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    driver.attach([("a", null(at_step=2))], job.model, job.optimizer, job.layers)
    for _ in range(3):
        job.model(torch.ones(2, 4)).sum().backward()
    assert job.events == []
    job.optimizer.step()
    job.model(torch.ones(2, 4)).sum().backward()
    assert summary(job) == [("FaultInjected", 2)]


def test_a_fault_that_cannot_be_made_fails_and_training_goes_on() -> None:
    job = drive(sdc(parameter="nothing"), null())
    assert isinstance(job.events[0], FaultFailed)
    assert "no parameter 'nothing'" in job.events[0].reason
    assert len(summary(job)) == 2
    assert job.num_steps == 8


def test_a_fault_that_cannot_strike_fails_and_training_goes_on() -> None:
    from injectors.hang_frozen import HangFrozen

    freeze = HangFrozen(kind="hang.frozen", rank=0, at_step=2, layer=99)
    job = drive(freeze)
    [failed] = job.events
    assert isinstance(failed, FaultFailed)
    assert "layer 99 does not exist" in failed.reason
    assert job.num_steps == 8


def test_without_faults_no_hook_is_installed() -> None:
    job = drive(null(rank=3))
    assert not job.model._forward_pre_hooks


def test_an_evaluation_between_two_steps_does_not_begin_the_next_one() -> None:
    job = Job()
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    driver.attach([("fault", null(at_step=2))], job.model, job.optimizer, job.layers)
    job.step()
    with torch.no_grad():
        job.model(torch.randn(8, 4))
    assert summary(job) == []
    job.step()
    assert summary(job) == [("FaultInjected", 2)]


def test_a_fault_of_the_input_is_in_place_before_its_step_is_fetched() -> None:
    job = Job()
    hooks: list[Any] = []
    driver = RankDriver(rank=0, seed=job.seed, emit=job.events.append)
    slow = StragglerInput(
        kind="straggler.input", rank=0, at_step=1, until_step=2, delay_s=0.001
    )
    driver.attach(
        [("fault", slow)], job.model, job.optimizer, job.layers, before_fetch=hooks
    )
    present = []
    for _ in range(3):
        present.append(bool(hooks))  # what the fetch of this step sees
        job.step()
    assert present == [True, True, False]
    assert summary(job)[0] == ("FaultInjected", 1)
