"""Batches, evaluations and checkpoints that a loop shows are published and timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from scout.boundaries import Boundaries
from scout.config import ScoutConfig
from scout.discover import examine
from scout.phase_times import PhaseTimes
from scout.phases import Phases

Said = list[tuple[object, ...]]


class Noted:
    """Progress as a list: entries, leaves, and where collectives belong."""

    def __init__(self) -> None:
        self.said: Said = []

    def publish(self, step: int, phase: str, name: str) -> int | None:
        self.said.append((step, phase, name))
        return len(self.said)

    def leave(self, token: int | None) -> None:
        if token is not None:
            self.said.append(("left", *self.said[token - 1]))

    def move(self, step: int, phase: str) -> None:
        self.said.append(("collectives", step, phase))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(2, 2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks[0](x)


class Loop:
    """A rank's boundaries over a real model."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = Model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.progress = Noted()
        self.times = PhaseTimes()
        anatomy = examine(self.model, ScoutConfig())
        self.boundaries = Boundaries(anatomy, self.optimizer, self.progress)
        self.phases = Phases(self.boundaries, self.times)
        self.boundaries.install()
        self.boundaries.step_begins(1)

    def update(self, x: torch.Tensor, step: int) -> None:
        self.model(x).sum().backward()
        self.optimizer.step()
        self.boundaries.step_begins(step + 1)

    def new(self) -> Said:
        said, self.progress.said = self.progress.said, []
        return said


def batches(count: int) -> Iterator[torch.Tensor]:
    return iter(torch.ones(count, 1, 2))


def test_what_follows_the_update_belongs_to_its_step_until_the_next_fetch() -> None:
    loop = Loop()
    data = iter(loop.phases.watch_data(batches(2), "fetch"))
    loop.new()
    loop.update(next(data), 1)
    assert loop.new()[-1] == ("left", 1, "optimizer", "update")
    with loop.phases.enter("checkpoint"):
        pass
    assert loop.new() == [
        (1, "checkpoint", "begin"),
        ("left", 1, "checkpoint", "begin"),
        ("collectives", 1, "optimizer"),  # a barrier behind it is no part of it
    ]
    next(data)
    assert loop.new() == [(2, "data", "fetch"), ("left", 2, "data", "fetch")]


def test_a_loop_that_shows_no_batches_begins_its_step_after_the_update() -> None:
    loop = Loop()
    loop.update(torch.ones(1, 2), 1)
    assert loop.new()[-1] == (2, "data", "next batch")


def test_everything_inside_an_evaluation_is_evaluation() -> None:
    loop = Loop()
    with loop.phases.enter("evaluation"), torch.no_grad():
        loop.new()
        for batch in loop.phases.watch_data(batches(1), "fetch"):
            loop.model(batch)
    phases = {entry[1] for entry in loop.new() if entry[0] == 1}
    assert phases == {"evaluation"}
    assert loop.times.take() == {}  # its fetches are no training input


def test_an_evaluation_is_seen_without_being_shown() -> None:
    loop = Loop()
    loop.new()
    with torch.no_grad():
        loop.model(torch.ones(1, 2))
    assert loop.new() == [(1, "evaluation", "blocks.0")]


def test_fetches_and_saves_are_summed_until_a_check_takes_them() -> None:
    loop = Loop()
    data = iter(loop.phases.watch_data(batches(2), "fetch"))
    next(data)
    one = loop.times.take()["data.fetch"]
    assert one.wall_s > 0
    next(data)
    with loop.phases.enter("checkpoint"):
        pass
    assert sorted(loop.times.take()) == ["checkpoint.save", "data.fetch"]
    assert loop.times.take() == {}


def test_values_errors_and_lengths_are_handed_on() -> None:
    loop = Loop()
    watched: Any = loop.phases.watch_data([1, 2, 3], "fetch")
    assert len(watched) == 3
    assert list(watched) == [1, 2, 3]
    assert list(watched) == [1, 2, 3]  # another pass

    def broken() -> Iterator[int]:
        yield 1
        raise OSError("disk")

    data = iter(loop.phases.watch_data(broken(), "fetch"))
    assert next(data) == 1
    with pytest.raises(OSError, match="disk"):
        next(data)


def test_after_the_end_nothing_is_published() -> None:
    loop = Loop()
    loop.phases.is_over = True
    loop.new()
    assert list(loop.phases.watch_data([1], "fetch")) == [1]
    with loop.phases.enter("checkpoint"):
        pass
    assert loop.new() == []


def test_other_phases_cannot_be_named() -> None:
    allowed = "allowed: evaluation, checkpoint"
    with pytest.raises(ValueError, match=f"'forward'; {allowed}"):
        Loop().phases.enter("forward").__enter__()
