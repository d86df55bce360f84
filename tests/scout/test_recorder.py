"""What a capture holds, and when it must not be used."""

from __future__ import annotations

import torch
from torch import nn

from scout.recorder import Invocation, Recorder

CPU = torch.device("cpu")


def captured(recorder: Recorder) -> Invocation:
    return recorder.take()["layer"]


def test_a_capture_holds_inputs_masks_and_incoming_gradients() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    x = torch.ones(2, 3, requires_grad=True)
    layer(x * 2).sum().backward()
    found = captured(recorder)
    assert found.problem() is None
    assert torch.equal(found.tensors[0], torch.full((2, 3), 2.0))
    assert found.requires_grad == [True]
    (gradient,) = found.gradients
    assert gradient is not None
    assert torch.equal(gradient, torch.ones(2, 3))


def test_hooks_are_gone_after_the_step() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    recorder.take()
    assert not layer._forward_hooks
    assert not layer._forward_pre_hooks
    layer(torch.ones(2, 3))
    assert recorder.take() == {}


def test_an_input_changed_in_place_makes_the_capture_unusable() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    x = torch.ones(2, 3)
    layer(x).sum().backward()
    x.add_(1)
    problem = captured(recorder).problem()
    assert problem == "a captured tensor was changed in place"


def test_shapes_that_change_are_cloned_and_survive_in_place_changes() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    for rows in (2, 5):
        recorder.arm([("layer", layer)])
        x = torch.ones(rows, 3)
        layer(x).sum().backward()
        x.add_(1)
        found = captured(recorder)
    assert found.problem() is None
    assert torch.equal(found.tensors[0], torch.ones(5, 3))


def test_evaluation_calls_are_not_captured() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    with torch.no_grad():
        layer(torch.zeros(2, 3))
    layer(torch.ones(2, 3)).sum().backward()
    assert torch.equal(captured(recorder).tensors[0], torch.ones(2, 3))


def test_a_call_whose_loss_is_thrown_away_gives_way_to_one_that_trains() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    thrown, trains, later = (torch.full((2, 3), float(n)) for n in (1, 2, 3))
    layer(thrown)
    for given in (trains, later):
        layer(given).sum().backward()
    found = captured(recorder)
    assert found.problem() is None
    assert torch.equal(found.tensors[0], trains)


def test_an_output_whose_gradient_never_came_is_a_problem() -> None:
    layer = nn.Linear(3, 3)
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    layer(torch.ones(2, 3))
    assert captured(recorder).problem() == "no gradient arrived at the output"


def test_keyword_and_non_tensor_arguments_keep_their_places() -> None:
    class Scaled(nn.Module):
        def forward(
            self, x: torch.Tensor, *, scale: float, mask: torch.Tensor | None = None
        ) -> torch.Tensor:
            return x * scale

    layer = Scaled()
    recorder = Recorder(CPU)
    recorder.arm([("layer", layer)])
    x = torch.ones(2, requires_grad=True)
    layer(x, scale=3.0, mask=None).sum().backward()
    found = captured(recorder)
    assert [leaf for leaf in found.leaves if not torch.is_tensor(leaf)] == [3.0, None]


def test_capturing_changes_no_gradient() -> None:
    def gradients(recorder: Recorder | None) -> list[torch.Tensor]:
        torch.manual_seed(0)
        layer = nn.Linear(3, 3)
        if recorder is not None:
            recorder.arm([("layer", layer)])
        layer(torch.ones(2, 3)).square().sum().backward()
        return [p.grad for p in layer.parameters() if p.grad is not None]

    for plain, watched in zip(gradients(None), gradients(Recorder(CPU)), strict=True):
        assert torch.equal(plain, watched)
