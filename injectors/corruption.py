"""How values go wrong: a pattern on an extent, the same for every `sdc.*` fault.

    pattern   flip, stuck, scale, sign, noise, set, nan, inf    what becomes of a value
    extent    one element, a row, a share, every n-th element   which values

Field studies of silent corruption name flips of one and of several bits, and bits that
are wrong at fixed places or distances; the rest covers 1 ulp to NaN. The scenario's
fields stand here once; the faults say which tensor, and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from injectors import bits
from injectors.errors import CannotInject
from injectors.extent import Extent, Shape
from injectors.fault import RankContext, RankParameters
from injectors.window import draw
from vocab.events import Change

if TYPE_CHECKING:
    import torch

Pattern = Literal["flip", "stuck", "scale", "sign", "noise", "set", "nan", "inf"]


class CorruptingParameters(RankParameters):
    """Fields of every fault that makes values wrong."""

    pattern: Pattern = Field(
        "flip",
        description="bits inverted, bits stuck at `level`, times `factor`, negated, "
        "noise of `factor` times the values' RMS added, set to `value`, NaN, infinite",
    )
    stuck_bit: int = Field(
        21,
        ge=0,
        le=63,
        description="bit from the lowest, for flip and stuck: for float32, 0 is one "
        "ulp, 31 the sign",
    )
    more_bits: tuple[int, ...] = Field(
        (), description="further bits that are wrong at the same time"
    )
    level: Literal[0, 1] = Field(1, description="what stuck bits read as")
    factor: float = Field(
        1.5, allow_inf_nan=False, description="for scale and noise, without unit"
    )
    value: float = Field(
        0.0, allow_inf_nan=False, description="for set, in the tensor's unit"
    )
    extent: Shape = Field(
        "element",
        description="one element, its row (last dim), a fraction of all, or every "
        "`period`-th",
    )
    element: int | None = Field(
        None, ge=0, description="row-major index of the element; absent: drawn"
    )
    fraction: float = Field(
        0.01, gt=0, le=1, description="share of all elements, for extent fraction"
    )
    period: int = Field(
        64, ge=1, description="elements from one to the next, for extent periodic"
    )
    undo: bool = Field(
        False,
        description="after its window every rank goes back to the weights and "
        "optimizer state of before: nothing of it stays",
    )

    @model_validator(mode="after")
    def _undo_needs_an_end(self) -> Self:
        if self.undo and self.until_step is None and self.lifetime != "one-shot":
            raise ValueError("undo is true; allowed: only with until_step, or one-shot")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption:
    """One pattern on one extent; a value, without any state of a fault."""

    pattern: Pattern
    wrong_bits: tuple[int, ...]
    level: int
    factor: float
    value: float
    extent: Extent
    draw_key: str

    @classmethod
    def of(cls, parameters: CorruptingParameters, context: RankContext) -> Corruption:
        """The corruption that a scenario's fields describe."""
        key = f"{context.seed}/{context.fault_id}"
        return cls(
            pattern=parameters.pattern,
            wrong_bits=(parameters.stuck_bit, *parameters.more_bits),
            level=parameters.level,
            factor=parameters.factor,
            value=parameters.value,
            extent=Extent(
                shape=parameters.extent,
                element=parameters.element,
                fraction=parameters.fraction,
                period=parameters.period,
                draw_key=key,
            ),
            draw_key=key,
        )

    def places(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """Row-major indices of the elements of `tensor` that go wrong.

        Raises:
            CannotInject: the tensor has no such element or bit.
        """
        allowed = bits.num_bits(tensor) - 1
        if self.pattern in ("flip", "stuck"):
            for bit in self.wrong_bits:
                if not 0 <= bit <= allowed:
                    raise CannotInject(
                        f"bit {bit}: {name} is {tensor.dtype}; allowed: 0..{allowed}"
                    )
        elif not tensor.is_floating_point():
            raise CannotInject(
                f"pattern {self.pattern}: {name} is {tensor.dtype}; allowed for it: "
                "flip, stuck"
            )
        try:
            return self.extent.places(tensor)
        except CannotInject as error:
            raise CannotInject(f"{name}: {error}") from None

    def wrong(self, healthy: torch.Tensor, count: int) -> torch.Tensor:
        """What becomes of these values (1-d); the values themselves stay as they are.

        Args:
            count: how often it struck before; noise is drawn for each strike anew.
        """
        import torch

        if self.pattern in ("flip", "stuck"):
            return self._wrong_bits(healthy)
        if self.pattern == "scale":
            return healthy * self.factor
        if self.pattern == "sign":
            return -healthy
        if self.pattern == "noise":
            source = torch.Generator()  # a stream of its own: training's stays
            source.manual_seed(draw(f"{self.draw_key}/noise/{count}").getrandbits(62))
            noise = torch.randn(healthy.shape, generator=source).to(healthy)
            size = healthy.square().mean().sqrt()
            return healthy + self.factor * (size if size > 0 else 1.0) * noise
        value = {"set": self.value, "nan": float("nan"), "inf": float("inf")}
        return torch.full_like(healthy, value[self.pattern])

    def words(self) -> str:
        """Such as `bit 21` or `times 1.5`."""
        named = ", ".join(str(bit) for bit in self.wrong_bits)
        which = f"bit{'s' if len(self.wrong_bits) > 1 else ''} {named}"
        return {
            "flip": which,
            "stuck": f"{which} stuck at {self.level}",
            "scale": f"times {self.factor:g}",
            "sign": "negated",
            "noise": f"with noise {self.factor:g}",
            "set": f"set to {self.value:g}",
            "nan": "set to NaN",
            "inf": "set to infinity",
        }[self.pattern]

    def _wrong_bits(self, healthy: torch.Tensor) -> torch.Tensor:
        found = healthy.detach().clone()
        words = bits.as_words(found)
        mask = bits.word_of(sum(1 << bit for bit in set(self.wrong_bits)), found)
        if self.pattern == "flip":
            words.bitwise_xor_(mask)
        elif self.level == 1:
            words.bitwise_or_(mask)
        else:
            words.bitwise_and_(~mask)
        return found


def change_of(
    what: str, places: torch.Tensor, before: torch.Tensor, after: torch.Tensor
) -> Change | None:
    """What differs between the values (1-d) at `places`; None: nothing does.

    It shows the first element that differs, and how many there are.
    """
    differs = (bits.as_words(before) != bits.as_words(after)).nonzero().flatten()
    if not len(differs):
        return None
    first = int(differs[0])
    more = f", {len(differs)} elements" if len(differs) > 1 else ""
    name, _, words = what.partition(" ")
    return Change(
        what=f"{name}[{int(places[first])}] {words}{more}".strip(),
        before=bits.describe(before, first),
        after=bits.describe(after, first),
    )
