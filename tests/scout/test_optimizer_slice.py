"""The optimizer recipe's slice: captured whole, re-run bit for bit, nothing touched."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adafactor, Adam, AdamW, Optimizer, RMSprop

from scout import optimizer_slice as slices


def trained(optimizer_class: Any, **settings: Any) -> tuple[nn.Module, Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 3))
    optimizer = optimizer_class(model.parameters(), **settings)
    for _ in range(3):
        model(torch.randn(4, 6)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    model(torch.randn(4, 6)).square().sum().backward()
    return model, optimizer


def names_of(model: nn.Module) -> dict[int, str]:
    return {id(p): name for name, p in model.named_parameters()}


@pytest.mark.parametrize(
    ("optimizer_class", "settings"),
    [
        (AdamW, {"lr": 1e-2}),
        (AdamW, {"lr": torch.tensor(1e-2)}),
        (Adam, {"lr": 1e-2, "amsgrad": True}),
        (SGD, {"lr": 1e-2, "momentum": 0.9, "nesterov": True}),
        (SGD, {"lr": 1e-2}),
        (RMSprop, {"lr": 1e-2}),
    ],
)
@pytest.mark.parametrize(("start", "count"), [(0, 1000), (4, 20), (33, 7)])
def test_a_rerun_of_the_slice_equals_the_real_update(
    optimizer_class: Any, settings: dict[str, Any], start: int, count: int
) -> None:
    model, optimizer = trained(optimizer_class, **settings)
    pieces = slices.capture(optimizer, names_of(model), start, count)
    again = slices.rerun(optimizer, pieces)
    optimizer.step()
    assert pieces
    for piece, (weight, _) in zip(pieces, again, strict=True):
        assert torch.equal(weight, piece.now())


def test_a_slice_covers_exactly_the_wanted_elements() -> None:
    model, optimizer = trained(AdamW)
    pieces = slices.capture(optimizer, names_of(model), 28, 10)
    found = [(piece.name, piece.start, piece.stop) for piece in pieces]
    assert found == [("0.weight", 28, 30), ("0.bias", 0, 5), ("1.weight", 0, 3)]


def test_capture_and_rerun_touch_nothing_live() -> None:
    model, optimizer = trained(AdamW)
    before = [p.detach().clone() for p in model.parameters()]
    slots = {
        (index, key): value.clone()
        for index, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }
    slices.rerun(optimizer, slices.capture(optimizer, names_of(model), 0, 1000))
    for parameter, weight in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, weight)
    for index, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            assert torch.equal(value, slots[(index, key)])


def test_a_factored_slot_has_no_slice_and_is_left_out() -> None:
    model, optimizer = trained(Adafactor)
    assert slices.capture(optimizer, names_of(model), 0, 30) == []


def test_parameters_without_a_gradient_are_left_out() -> None:
    model, optimizer = trained(SGD)
    optimizer.zero_grad()
    assert slices.capture(optimizer, names_of(model), 0, 1000) == []


def test_configuration_tells_apart_what_must_be_equal() -> None:
    one = slices.configuration(trained(AdamW, lr=1e-2)[1])
    assert one == slices.configuration(trained(AdamW, lr=1e-2)[1])
    assert one != slices.configuration(trained(AdamW, lr=1e-3)[1])
    assert one != slices.configuration(trained(Adam, lr=1e-2)[1])
