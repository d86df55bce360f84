"""Draw a layer or an element of the model from the scenario's seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from injectors.errors import CannotInject
from injectors.fault import RankContext
from injectors.window import draw

if TYPE_CHECKING:
    import torch


def pick_layer(context: RankContext, wanted: int | None) -> tuple[str, torch.nn.Module]:
    """The wanted repeated layer, or one drawn from the seed.

    Raises:
        CannotInject: the model has no such layer.
    """
    if not context.layers:
        raise CannotInject("the model has no repeated layers to strike")
    if wanted is None:
        wanted = draw(f"{context.seed}/{context.fault_id}/layer").randrange(
            len(context.layers)
        )
    if wanted >= len(context.layers):
        raise CannotInject(
            f"layer {wanted} does not exist; allowed: 0..{len(context.layers) - 1}"
        )
    return context.layers[wanted]


def pick_parameter(
    context: RankContext, wanted: str | None
) -> tuple[str, torch.nn.Parameter]:
    """The wanted parameter by name, or one of a repeated layer drawn from the seed.

    Raises:
        CannotInject: the model has no parameter of that name.
    """
    named = dict(context.model.named_parameters())
    if wanted is None:
        layer_name, layer = pick_layer(context, None)
        names = sorted(f"{layer_name}.{name}" for name, _ in layer.named_parameters())
        wanted = draw(f"{context.seed}/{context.fault_id}/parameter").choice(names)
    if wanted not in named:
        some = ", ".join(sorted(named)[:4])
        raise CannotInject(f"no parameter {wanted!r}; allowed: {some}, ...")
    return wanted, named[wanted]


def pick_module(
    context: RankContext, wanted: str | None
) -> tuple[str, torch.nn.Module]:
    """The wanted module by name, or a repeated layer drawn from the seed.

    Raises:
        CannotInject: the model has no module of that name.
    """
    if wanted is None:
        return pick_layer(context, None)
    named = dict(context.model.named_modules())
    if wanted not in named or not wanted:
        some = ", ".join(sorted(filter(None, named))[:4])
        raise CannotInject(f"no module {wanted!r}; allowed: {some}, ...")
    return wanted, named[wanted]
