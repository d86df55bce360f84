"""After an undone fault weights and optimizer are those of before, to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from injectors.errors import CannotInject
from injectors.fault import RankParameters
from injectors.rank_driver import RankDriver
from injectors.rewind import Rewind
from injectors.sdc_activation import SdcActivation
from injectors.sdc_gradient import SdcGradient
from injectors.sdc_optimizer_state import SdcOptimizerState
from injectors.sdc_parameter import SdcParameter
from tests.injectors.small import Job
from vocab.events import FaultHealed, FaultInjected

_FIELDS = {"rank": 0, "at_step": 3, "until_step": 3, "undo": True, "pattern": "nan"}
FAULTS: list[RankParameters] = [
    SdcParameter(**{"kind": "sdc.parameter", **_FIELDS}),
    SdcParameter(**{"kind": "sdc.parameter", **_FIELDS, "lifetime": "one-shot"}),
    SdcGradient(**{"kind": "sdc.gradient", "where": "after", **_FIELDS}),
    SdcGradient(**{"kind": "sdc.gradient", **_FIELDS}),
    SdcActivation(**{"kind": "sdc.activation", **_FIELDS}),
    SdcOptimizerState(**{"kind": "sdc.optimizer_state", **_FIELDS}),
]


def attached(*faults: RankParameters, rank: int = 0) -> tuple[Job, RankDriver]:
    job = Job()
    driver = RankDriver(rank=rank, seed=job.seed, emit=job.events.append)
    named = [(f"f{index}", fault) for index, fault in enumerate(faults)]
    driver.attach(named, job.model, job.optimizer, job.layers)
    return job, driver


def whole_state(job: Job) -> list[bytes]:
    slots = [
        value for state in job.optimizer.state.values() for value in state.values()
    ]
    return [
        tensor.detach().numpy().tobytes()
        for tensor in (*job.model.parameters(), *slots)
    ]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_step_is_that_of_a_job_without_the_struck_step(
    fault: RankParameters,
) -> None:
    job, _ = attached(fault)
    healthy = Job()
    for other in (job, healthy):
        for _ in range(2):
            other.step()
    job.step()
    assert whole_state(job) != whole_state(healthy)
    healthy.num_steps += 1  # the struck step never was
    for other in (job, healthy):
        other.step()
    assert whole_state(job) == whole_state(healthy)
    injected, healed = job.events
    assert isinstance(injected, FaultInjected)
    assert injected.step == 3
    assert isinstance(healed, FaultHealed)
    assert (healed.residue, healed.num_strikes) == ("", 1)
    assert healed.changes[-1].what.startswith("weights and optimizer")


def test_a_rank_that_was_not_struck_goes_back_too_and_says_nothing() -> None:
    job, _ = attached(FAULTS[0], rank=1)
    job.step()
    job.step()
    before = whole_state(job)
    job.step()
    seen: list[list[bytes]] = []
    job.model.blocks[0].register_forward_pre_hook(
        lambda *_: seen.append(whole_state(job))
    )
    job.step()
    assert seen == [before]
    assert job.events == []


def test_a_fault_beside_training_leaves_the_step_alone() -> None:
    fault = SdcActivation(
        kind="sdc.activation", rank=0, at_step=3, until_step=3, module="blocks.1",
        pattern="nan", passes="beside_training", undo=True,
    )  # fmt: skip
    job, _ = attached(fault)
    for _ in range(3):
        job.step()
    assert all(torch.isfinite(p).all() for p in job.model.parameters())
    assert job.model.blocks[1](torch.randn(8, 4)).isnan().any()
    job.step()
    assert not job.model.blocks[1](torch.randn(8, 4)).isnan().any()
    assert [type(event).__name__ for event in job.events] == [
        "FaultInjected", "FaultHealed",
    ]  # fmt: skip


def test_what_is_kept_is_given_back_once() -> None:
    job = Job()
    rewind = Rewind(job.model, job.optimizer)
    assert rewind.back() is None
    rewind.keep()  # before the optimizer has any slot
    before = whole_state(job)
    job.step()
    change = rewind.back()
    assert change is not None
    assert change.before != change.after
    assert whole_state(job) == before
    assert rewind.back() is None


def test_a_state_that_is_not_that_of_before_is_no_healing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job()
    rewind = Rewind(job.model, job.optimizer)
    rewind.keep()
    job.step()
    monkeypatch.setattr("injectors.rewind._restore", lambda live, slots: None)
    monkeypatch.setattr(torch.Tensor, "copy_", lambda self, other: self)
    with pytest.raises(CannotInject, match="digest"):
        rewind.back()


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (SdcParameter, {"kind": "sdc.parameter", "until_step": None}),
        (SdcGradient, {"kind": "sdc.gradient", "where": "after",
                       "passes": "beside_training"}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="allowed"):
        make(**{**_FIELDS, **fields})
