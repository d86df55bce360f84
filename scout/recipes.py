"""What each check replays: modules in rotation, a slice of the optimizer (sec. 6.1).

Pure bookkeeping, equal on every peer: the plan depends on the check's number and on
evidence that all peers share, so peers never disagree about what to do next. The hidden
layer goes round; a raw timing outlier holds it for one more check, so that the second,
confirming boundary comes soon.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from scout.config import ScoutConfig
from scout.discover import Anatomy


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One check: which modules by recipe, and where the optimizer's slice begins."""

    check: int
    modules: tuple[tuple[str, str, torch.nn.Module], ...]  # (recipe, name, module)
    layer: str | None
    source_peer: int
    slice_start: int | None  # element of the whole parameter order; None: no recipe

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that run."""
        names = tuple(recipe for recipe, _, _ in self.modules)
        return names if self.slice_start is None else (*names, "optimizer")


class Rotation:
    """Plans of successive checks."""

    def __init__(
        self, anatomy: Anatomy, config: ScoutConfig, num_peers: int, num_elements: int
    ) -> None:
        self._anatomy = anatomy
        self._config = config
        self._num_peers = num_peers
        self._num_elements = num_elements  # of all parameters of the optimizer
        self._check = 0
        self._turn = 0
        self._slice_start = 0
        self._is_held = False

    def next(self) -> Plan:
        """The plan of the coming check; stays the same until `advance`."""
        wanted = self._config.recipes
        modules: list[tuple[str, str, torch.nn.Module]] = []
        layer = None
        if "embedding" in wanted and self._anatomy.embedding is not None:
            modules.append(("embedding", *self._anatomy.embedding))
        if "hidden" in wanted and self._anatomy.layers:
            turn = self._turn % len(self._anatomy.layers)
            layer = self._anatomy.layers[turn][0]
            modules.append(("hidden", *self._anatomy.layers[turn]))
        if "lm_head" in wanted and self._anatomy.lm_head is not None:
            modules.append(("lm_head", *self._anatomy.lm_head))
        return Plan(
            check=self._check,
            modules=tuple(modules),
            layer=layer,
            source_peer=(
                self._check % self._num_peers if self._config.rotate_source else 0
            ),
            slice_start=self._slice_start if "optimizer" in wanted else None,
        )

    def advance(self, *, hold_layer: bool) -> None:
        """The check is over; `hold_layer` replays the same layer once more."""
        self._check += 1
        self._slice_start += self._config.slice_elements
        if self._slice_start >= self._num_elements:
            self._slice_start = 0
        self._is_held = hold_layer and not self._is_held
        if not self._is_held:
            self._turn += 1
