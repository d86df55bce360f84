"""Slow collectives: each call of the job is delayed, a diagnosis' calls are not."""

from __future__ import annotations

from typing import Any

import pytest
import torch.distributed as dist

from injectors import straggler_collective
from injectors.straggler_collective import SlowCollective, StragglerCollective
from tests.injectors.small import Job


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sleeps, calls and pauses in order, instead of real ones."""
    order: list[str] = []

    class Transport:
        def pause(self) -> None:
            order.append("pause")

        def go_on(self) -> None:
            order.append("go on")

    class Timer:
        daemon = False

        def __init__(self, delay_s: float, call: Any) -> None:
            self._call = call
            order.append(f"timer {delay_s:g}")

        def start(self) -> None:
            pass

        def join(self) -> None:
            self._call()

    sleep = straggler_collective.time
    monkeypatch.setattr(sleep, "sleep", lambda delay: order.append(f"sleep {delay:g}"))
    monkeypatch.setattr(straggler_collective, "Transport", Transport)
    monkeypatch.setattr(straggler_collective.threading, "Timer", Timer)
    monkeypatch.setattr(dist, "all_reduce", lambda *_, **__: order.append("call"))
    return order


def slow(**fields: Any) -> SlowCollective:
    given = {"kind": "straggler.collective", "rank": 0, "at_step": 1, **fields}
    return SlowCollective(StragglerCollective.model_validate(given), Job().context())


def test_at_the_entry_each_call_comes_late(said: list[str]) -> None:
    fault = slow(delay_s=0.25)
    [change] = fault.inject(1)
    fault.inject(2)
    assert change.what == "entry of torch.distributed.all_reduce"
    assert change.after == "+0.25 s a call (0 delays so far)"
    dist.all_reduce(None)
    dist.all_reduce(None, group=object())
    [healed] = fault.heal(2).changes
    fault.heal(2)
    dist.all_reduce(None)
    assert said == ["sleep 0.25", "call", "call", "call"]
    assert healed.after == "not delayed (1 delays so far)"


def test_inside_the_transport_stands_still_during_the_call(said: list[str]) -> None:
    fault = slow(where="inside", delay_s=0.5)
    fault.inject(1)
    dist.all_reduce(None)
    fault.heal(1)
    assert said == ["pause", "timer 0.5", "call", "go on"]
