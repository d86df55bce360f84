"""Change one call of a `torch.distributed` function in this rank, then let go of it.

    armed at the step's start -> the job calls it on its main group -> FaultInjected,
    the function is put back, FaultHealed -> the changed call runs, and may block

Shared by the faults of collectives. Calls on other groups, such as a diagnosis makes,
go through untouched: only what the job itself sends is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from injectors.fault import RankContext
from vocab.events import Change, FaultHealed, FaultInjected
from vocab.names import rank_name

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What is done in place of the wanted call."""

    run: Callable[[], Any]
    instead: str  # what the rank calls now, in words
    residue: str


class OneCall:
    """One function of `torch.distributed`, swapped from `arm` to its next call."""

    def __init__(
        self,
        context: RankContext,
        *,
        kind: str,
        label: str,
        color: str,
        function: str,
        act: Callable[[Call, tuple[Any, ...], dict[str, Any]], Deed],
    ) -> None:
        self._context = context
        self._kind = kind
        self._label = label
        self._color = color
        self._function = function
        self._act = act
        self._original: Call | None = None
        self._step = 0

    def arm(self, step: int) -> None:
        """Wait for the next call."""
        import torch.distributed as dist

        self._step = step
        if self._original is None:
            self._original = getattr(dist, self._function)
            setattr(dist, self._function, self._on_call)

    def disarm(self) -> None:
        """Put the function back; a second call changes nothing."""
        import torch.distributed as dist

        if self._original is not None:
            setattr(dist, self._function, self._original)
            self._original = None

    def _on_call(self, *args: Any, **kwargs: Any) -> Any:
        original = self._original
        assert original is not None, "swapped only while armed"
        if kwargs.get("group") is not None:
            return original(*args, **kwargs)
        self.disarm()
        deed = self._act(original, args, kwargs)
        self._prove(describe(self._function, args, kwargs), deed)
        return deed.run()

    def _prove(self, wanted: str, deed: Deed) -> None:
        name = rank_name(self._context.rank)
        what = f"next {self._function} of {name} in step {self._step}"
        self._context.emit(
            FaultInjected(
                fault_id=self._context.fault_id,
                kind=self._kind,
                label=self._label,
                color=self._color,
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
                        what=f"torch.distributed.{self._function}",
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
