"""Settings of SCOUT; the scenario's `scout:` block and `enable_resiliency(config=)`.

Standard library only: the command line and the observer read it without torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

PHASES = (
    "startup",
    "data",
    "forward",
    "backward",
    "reduce",
    "optimizer",
    "check",
    "evaluation",
    "checkpoint",
)
RECIPES = ("embedding", "hidden", "lm_head", "optimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoutConfig:
    """How often SCOUT looks, how sure it must be, and how long silence is normal."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "use_attribute_docstrings": True,  # the launch form shows them as help
    }

    replay_every: int = 20
    """Steps between checks; 20 is SCOUT sec. 6.1.1's example (1 or more)."""

    recipes: tuple[str, ...] = RECIPES
    """Which recipes each check runs, of `RECIPES`."""

    variants: tuple[float, ...] = (1.0, 0.1, 10.0)
    """Factors on the replayed floating-point inputs (SCOUT sec. 6.1.1)."""

    rotate_source: bool = True
    """Whether the broadcast source goes round the peers; False: always peer 0."""

    kappa: float = 5.0
    """Sensitivity of statistical consensus in robust scales (FACTS: 5 or more)."""

    confirmations: int = 2
    """Distinct boundaries that must agree on a straggler (SCOUT sec. 10.2)."""

    floor_rel: float = 0.5
    """A straggler is slower than the median by at least this fraction (FACTS)."""

    floor_abs_s: float = 0.020
    """A straggler is slower than the median by at least this, seconds (FACTS)."""

    floor_group_s: float = 0.15
    """A group is slow when each of its members waits longer in collectives than at
    clean checks by at least this, seconds a step; its own noise is larger than a
    peer's, for nobody is there to compare it with (testbed)."""

    close_after: int = 2
    """Clean measurements of every place of an incident after which it is over; what is
    found later is a new one, what is found before belongs to it (1 or more)."""

    slice_elements: int = 65_536
    """Elements of the optimizer recipe's slice (SCOUT sec. 9)."""

    silence_s: float = 30.0
    """Seconds without progress after which observers compare, for every phase that
    `silence_by_phase_s` does not name."""

    silence_by_phase_s: dict[str, float] = field(default_factory=dict)
    """Other thresholds for single phases of `PHASES`, seconds."""

    compare_every: int = 0
    """Steps between comparisons of collectives while nobody is silent; 0: none. On some
    backends a mismatch completes with wrong numbers, which only this sees (testbed)."""

    observer: bool = True
    """Whether a separate observer process watches each rank (SCOUT sec. 7)."""

    heartbeat_s: float = 1.0
    """Seconds between the observer's own heartbeats."""

    embedding: str | None = None
    """Name of the embedding module; None: the first `torch.nn.Embedding`."""

    layers: str | None = None
    """Name of the list of repeated layers; None: the longest list of one class."""

    lm_head: str | None = None
    """Name of the output layer; None: the last `Linear` as wide as the embedding."""

    def __post_init__(self) -> None:
        _at_least("replay_every", self.replay_every, 1)
        _at_least("confirmations", self.confirmations, 1)
        _at_least("close_after", self.close_after, 1)
        _at_least("slice_elements", self.slice_elements, 1)
        _at_least("compare_every", self.compare_every, 0)
        for name in ("kappa", "silence_s", "heartbeat_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: above 0")
        for name in ("floor_rel", "floor_abs_s", "floor_group_s"):
            _at_least(name, getattr(self, name), 0)
        _known("recipes", self.recipes, RECIPES)
        _known("silence_by_phase_s", tuple(self.silence_by_phase_s), PHASES)
        if not self.variants or any(factor == 0 for factor in self.variants):
            raise ValueError(
                f"variants is {self.variants}; allowed: one or more factors, not 0"
            )

    def silence_of(self, phase: str) -> float:
        """Seconds of silence that are normal in `phase`."""
        return self.silence_by_phase_s.get(phase, self.silence_s)


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; allowed: {least} or more")


def _known(name: str, values: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    for value in values:
        if value not in allowed:
            raise ValueError(f"{name} has {value!r}; allowed: {', '.join(allowed)}")
