"""Change one call of a `torch.distributed` function in this rank, then let go of it.

    armed at the step's start -> the job calls it on its main group -> FaultInjected,
    the function is put back, FaultHealed -> the changed call runs, and may block

Shared by the faults of collectives. Calls on other groups, such as a diagnosis makes,
go through untouched: only what the job itself sends is changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from injectors.fault import Healing, RankContext, RankParameters
from vocab.events import Change, FaultHealed, FaultInjected
from vocab.names import rank_name

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What is done in place of the wanted call."""

    run: Callable[[], Any]
    instead: str  # what the rank calls now, in words
    residue: str


class OneCall(ABC):
    """One function of `torch.distributed`, swapped from `inject` to its next call."""

    label: str
    color: str
    moment: Literal["step_start"] = "step_start"
    function = "all_reduce"
    """Name of the function."""

    def __init__(self, parameters: RankParameters, context: RankContext) -> None:
        self._context = context
        self._kind = parameters.kind
        self._original: Call | None = None
        self._step = 0

    @abstractmethod
    def act(
        self, original: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Deed:
        """What is done in place of `original(*args, **kwargs)`."""

    def inject(self, step: int) -> tuple[Change, ...]:
        """Wait for the next call; it proves itself when it comes."""
        import torch.distributed as dist

        self._step = step
        if self._original is None:
            self._original = getattr(dist, self.function)
            setattr(dist, self.function, self._on_call)
        return ()

    def heal(self, step: int) -> Healing:
        """Put the function back if it was not called; again changes nothing."""
        self._put_back()
        return Healing(changes=())

    def _put_back(self) -> None:
        import torch.distributed as dist

        if self._original is not None:
            setattr(dist, self.function, self._original)
            self._original = None

    def _on_call(self, *args: Any, **kwargs: Any) -> Any:
        original = self._original
        assert original is not None, "swapped only while armed"
        if kwargs.get("group") is not None:
            return original(*args, **kwargs)
        self._put_back()
        deed = self.act(original, args, kwargs)
        self._prove(describe(self.function, args, kwargs), deed)
        return deed.run()

    def _prove(self, wanted: str, deed: Deed) -> None:
        name = rank_name(self._context.rank)
        what = f"next {self.function} of {name} in step {self._step}"
        self._context.emit(
            FaultInjected(
                fault_id=self._context.fault_id,
                kind=self._kind,
                label=self.label,
                color=self.color,
                targets=(name,),
                step=self._step,
                changes=(Change(what=what, before=wanted, after=deed.instead),),
            )
        )
        self._context.emit(
            FaultHealed(
                fault_id=self._context.fault_id,
                kind=self._kind,
                targets=(name,),
                step=self._step,
                changes=(
                    Change(
                        what=f"torch.distributed.{self.function}",
                        before="changed for one call",
                        after="as it was",
                    ),
                ),
                num_strikes=1,
                residue=deed.residue,
            )
        )


def describe(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call in words: `all_reduce of float32 [1], op=MAX`."""
    tensor = next((arg for arg in args if hasattr(arg, "dtype")), None)
    text = function
    if tensor is not None:
        text += f" of {str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    named = [
        f"{name}={getattr(value, 'name', value)}"
        for name, value in kwargs.items()
        if name in ("op", "src") and value is not None
    ]
    return ", ".join([text, *named])
