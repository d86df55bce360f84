"""Sizes of well-known models, to which a small job's collectives can be scaled.

A literal table: bytes of gradients that one data-parallel rank reduces in a step. Read
by `player` and by the scenario's schema; knows nothing of fabrics.
"""

from __future__ import annotations

from dataclasses import dataclass

REAL = "real"
"""Not scaled: what the job really reduces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """One model; parameter counts are those that its authors publish."""

    num_parameters: int
    bytes_each: int  # of a gradient: 4 for float32, 2 for bfloat16
    num_parts: int = 1  # tensor x pipeline parallel ranks that share the parameters

    @property
    def gradient_bytes(self) -> int:
        """What one rank reduces over its data-parallel group."""
        return self.num_parameters * self.bytes_each // self.num_parts


MODELS: dict[str, NamedModel] = {
    "resnet50": NamedModel(num_parameters=25_557_032, bytes_each=4),
    "gpt2": NamedModel(num_parameters=124_439_808, bytes_each=4),
    "gpt2-medium": NamedModel(num_parameters=354_823_168, bytes_each=4),
    "gpt2-xl": NamedModel(num_parameters=1_557_611_200, bytes_each=2),
    "llama3-8b": NamedModel(num_parameters=8_030_261_248, bytes_each=2),
    # The paper's 4 TP x 4 PP x 4 DP job (SprayCheck Tab. 1).
    "llama3-70b-4tp-4pp": NamedModel(
        num_parameters=70_553_706_496, bytes_each=2, num_parts=16
    ),
}
