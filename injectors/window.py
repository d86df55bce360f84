"""When a fault strikes: window of steps and lifetime, drawn from the scenario's seed.

Pure. A strike at step s is drawn from (seed, fault, s) alone, so a repeated run
strikes at the same steps whatever else drew random numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from injectors.fault import StepParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The steps of one fault; `until_step` None means to the end of the run."""

    at_step: int
    until_step: int | None
    lifetime: str
    probability: float | None
    draw_key: str

    @classmethod
    def of(cls, parameters: StepParameters, seed: int, fault_id: str) -> Window:
        """The window that `parameters` describe, drawing from `seed` and the fault."""
        return cls(
            at_step=parameters.at_step,
            until_step=parameters.until_step,
            lifetime=parameters.lifetime,
            probability=parameters.probability,
            draw_key=f"{seed}/{fault_id}",
        )

    def strikes(self, step: int) -> bool:
        """Whether the fault acts in step `step`."""
        if step < self.at_step or self.is_over(step):
            return False
        if self.lifetime == "one-shot":
            return step == self.at_step
        if self.lifetime == "intermittent":
            assert self.probability is not None
            return draw(f"{self.draw_key}/{step}").random() < self.probability
        return True

    def is_over(self, step: int) -> bool:
        """Whether no strike can come in step `step` or later."""
        if self.lifetime == "one-shot":
            return step > self.at_step
        return self.until_step is not None and step > self.until_step


def draw(key: str) -> random.Random:
    """A random source that depends on `key` alone, the same on every machine."""
    return random.Random(key)
