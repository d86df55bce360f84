"""Targets are drawn from the seed, or are the ones that were asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from injectors.errors import CannotInject
from injectors.layers import pick_layer, pick_parameter
from tests.injectors.small import Job


def test_the_same_seed_draws_the_same_target() -> None:
    one, two = Job(seed=5).context(), Job(seed=5).context()
    assert pick_layer(one, None)[0] == pick_layer(two, None)[0]
    assert pick_parameter(one, None)[0] == pick_parameter(two, None)[0]


def test_every_layer_is_drawn_by_some_seed() -> None:
    drawn = {pick_layer(Job(seed=seed).context(), None)[0] for seed in range(30)}
    assert drawn == {"blocks.0", "blocks.1", "blocks.2"}


def test_a_drawn_parameter_is_one_of_a_repeated_layer() -> None:
    for seed in range(20):
        name, parameter = pick_parameter(Job(seed=seed).context(), None)
        assert name.startswith("blocks.")
        assert parameter.requires_grad


def test_the_wanted_target_is_taken() -> None:
    context = Job().context()
    assert pick_layer(context, 2)[0] == "blocks.2"
    name, parameter = pick_parameter(context, "head.weight")
    assert name == "head.weight"
    assert parameter is dict(context.model.named_parameters())[name]


def test_a_target_that_is_not_there_is_named() -> None:
    context = Job().context()
    with pytest.raises(CannotInject, match=r"layer 3 does not exist; allowed: 0\.\.2"):
        pick_layer(context, 3)
    with pytest.raises(CannotInject, match="no parameter 'x'; allowed: blocks"):
        pick_parameter(context, "x")
    with pytest.raises(CannotInject, match="no repeated layers"):
        pick_layer(replace(context, layers=()), None)
