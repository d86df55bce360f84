"""Make values of tensors wrong, in place or in a copy, with proof (`corruption`).

    strike(tensor)       stored values: kept, made wrong, given back by `restore`
    wrong_copy(tensor)   values on their way: a copy goes on in their place

Shared by the `sdc.*` faults, which say which tensor and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from injectors import bits
from injectors.corruption import Corruption, change_of
from injectors.errors import CannotInject
from vocab.events import Change

if TYPE_CHECKING:
    import torch


class Tampering:
    """The wrong values of one tensor at a time."""

    def __init__(self, corruption: Corruption, name: str) -> None:
        self._corruption = corruption
        self._name = name
        self._what = f"{name} {corruption.words()}"
        self._count = 0
        self._struck: _Struck | None = None

    def check(self, tensor: torch.Tensor) -> None:
        """Raise `CannotInject` now if it could never strike this tensor."""
        self._corruption.places(tensor, self._name)

    def strike(self, tensor: torch.Tensor) -> tuple[Change, ...]:
        """Make the values wrong in place; nothing if they are so already.

        Raises:
            CannotInject: the tensor has no such element or bit.
        """
        if self._struck is not None:
            return self._struck.changes
        if not tensor.is_contiguous():
            raise CannotInject(f"{self._name} is not contiguous; allowed: contiguous")
        flat = tensor.detach().view(-1)
        places = self._corruption.places(tensor, self._name)
        healthy = flat[places].clone()
        changes = self._write(flat, places)
        self._struck = _Struck(
            flat=flat, places=places, healthy=healthy, wrong=flat[places],
            changes=changes,
        )  # fmt: skip
        return changes

    def restore(self) -> tuple[Change, ...]:
        """Give the values back; what others have overwritten since stays theirs."""
        struck, self._struck = self._struck, None
        if struck is None:
            return ()
        now = struck.flat[struck.places]
        still = bits.as_words(now) == bits.as_words(struck.wrong)
        struck.flat[struck.places[still]] = struck.healthy[still]
        change = change_of(self._what, struck.places, now, struck.flat[struck.places])
        return () if change is None else (change,)

    def forget(self) -> str:
        """Leave the values wrong; names the first of them, "" where there are none."""
        struck, self._struck = self._struck, None
        if struck is None or not struck.changes:
            return ""
        return struck.changes[0].what.partition(" ")[0]

    def wrong_copy(
        self, tensor: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[Change, ...]]:
        """A detached copy with wrong values, and what differs in it.

        Raises:
            CannotInject: the tensor has no such element or bit.
        """
        places = self._corruption.places(tensor, self._name)
        copy = tensor.detach().contiguous().clone()
        return copy, self._write(copy.view(-1), places)

    def _write(self, flat: torch.Tensor, places: torch.Tensor) -> tuple[Change, ...]:
        healthy = flat[places]
        flat[places] = self._corruption.wrong(healthy, self._count)
        self._count += 1
        change = change_of(self._what, places, healthy, flat[places])
        return () if change is None else (change,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Struck:
    """Values in a live tensor: what they were, and what they were made."""

    flat: torch.Tensor  # 1-d view of the live tensor
    places: torch.Tensor
    healthy: torch.Tensor
    wrong: torch.Tensor
    changes: tuple[Change, ...]
