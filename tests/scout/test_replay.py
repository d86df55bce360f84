"""Replay repeats a call bit for bit and leaves everything as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import nn

from scout import replay
from scout.recorder import Invocation, Recorder

CPU = torch.device("cpu")
VARIANTS = (1.0, 0.1, 10.0)


class Noisy(nn.Module):
    """Dropout, a buffer that every call changes, and a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.dropout(self.norm(self.linear(x)))
        return y


def capture(layer: nn.Module, x: torch.Tensor) -> Invocation:
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    layer(x).square().sum().backward()
    return recorder.take()["layer"]


def replayed(layer: nn.Module, captured: Invocation) -> replay.Replayed:
    source = replay.source_of(captured)
    return replay.replay("hidden", layer, captured, source, VARIANTS, CPU)


@pytest.fixture
def layer() -> Noisy:
    torch.manual_seed(1)
    return Noisy()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(16, 8, generator=torch.Generator().manual_seed(2),
                       requires_grad=True)  # fmt: skip


def test_two_replays_give_the_same_signatures(layer: Noisy, x: torch.Tensor) -> None:
    captured = capture(layer, x)
    assert replayed(layer, captured).signatures == replayed(layer, captured).signatures


def test_the_unscaled_replay_repeats_the_training_call_with_its_dropout_mask(
    x: torch.Tensor,
) -> None:
    torch.manual_seed(3)
    layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
    outputs = []
    layer.register_forward_hook(lambda m, a, out: outputs.append(out.detach()))
    captured = capture(layer, x)
    found = replayed(layer, captured).signatures
    assert found["hidden.output[x1]"] == replay.combined([outputs[0]])


def test_parameters_outputs_and_both_gradients_are_compared_apart(
    layer: Noisy, x: torch.Tensor
) -> None:
    captured = capture(layer, x)
    names, timings = replay.surfaces("hidden", captured, VARIANTS)
    done = replayed(layer, captured)
    assert sorted(done.signatures) == sorted(names)
    assert sorted(done.timings) == sorted(timings) == [
        "hidden.backward", "hidden.forward",
    ]  # fmt: skip
    assert len(set(done.signatures.values())) == len(names) == 1 + 3 * len(VARIANTS)


def test_integer_inputs_are_replayed_once() -> None:
    layer = nn.Embedding(10, 4)
    captured = capture(layer, torch.tensor([[1, 2, 3]]))
    names, _ = replay.surfaces("embedding", captured, VARIANTS)
    assert [name.partition(".")[2] for name in names] == [
        "parameters", "output[x1]", "input_grad[x1]", "param_grad[x1]",
    ]  # fmt: skip


def test_nothing_of_training_is_changed(layer: Noisy, x: torch.Tensor) -> None:
    captured = capture(layer, x)
    random.seed(4)
    np.random.seed(5)
    before = (
        [p.grad.clone() for p in layer.parameters() if p.grad is not None],
        [b.clone() for b in layer.buffers()],
        [p.detach().clone() for p in layer.parameters()],
        torch.get_rng_state(),
        torch.are_deterministic_algorithms_enabled(),
    )
    states = random.getstate(), np.random.get_state()[1].tolist()
    replayed(layer, captured)
    after = (
        [p.grad.clone() for p in layer.parameters() if p.grad is not None],
        [b.clone() for b in layer.buffers()],
        [p.detach().clone() for p in layer.parameters()],
        torch.get_rng_state(),
        torch.are_deterministic_algorithms_enabled(),
    )
    for one, other in zip(before[:3], after[:3], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert torch.equal(before[3], after[3])
    assert before[4] == after[4]
    assert states == (random.getstate(), np.random.get_state()[1].tolist())


def test_a_module_that_draws_from_python_does_not_advance_training(
    x: torch.Tensor,
) -> None:
    class Drawing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * random.random()

    layer = Drawing()
    random.seed(6)
    captured = capture(layer, x)
    expected = random.Random(6)
    expected.random()
    replayed(layer, captured)
    assert random.random() == expected.random()


def test_an_absent_gradient_is_not_the_same_as_none_at_all() -> None:
    tensor = torch.ones(2)
    values = {
        replay.combined([tensor]),
        replay.combined([tensor, None]),
        replay.combined([None, tensor]),
        replay.combined([]),
    }
    assert len(values) == 4
