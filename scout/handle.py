"""What `enable_resiliency` gives back: tier, verdicts, phases, and the way to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from vocab.verdict import Verdict

if TYPE_CHECKING:
    from scout.phases import Phases

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """How much SCOUT sees of this job (DESIGN sec. 5).

    `full`: every collective, also those launched from C++. `boundaries`: module, data
    and optimizer boundaries. What `blind` names is never guessed.
    """

    name: str
    sees: tuple[str, ...]
    blind: tuple[str, ...]


class Handle:
    """A running SCOUT in one rank."""

    def __init__(self, tier: Tier, phases: Phases, close: Callable[[], None]) -> None:
        self._tier = tier
        self._phases = phases
        self._close = close
        self._verdicts: list[Verdict] = []
        self._disabled: str | None = None
        self._listeners: list[Callable[[Verdict], None]] = []

    @property
    def tier(self) -> Tier:
        """The visibility tier; also written as the event `TierReported`."""
        return self._tier

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of this rank's peer group from checks, the same on every peer."""
        return tuple(self._verdicts)

    @property
    def disabled(self) -> str | None:
        """Why the checks switched themselves off, or None: they are on."""
        return self._disabled

    def watch_data(self, batches: Iterable[T], name: str = "fetch") -> Iterable[T]:
        """`batches`, with a boundary around each fetch: stalls and slow input are seen.

        Wrap the training loader with it, once, on every rank. Batches are handed on
        untouched; after `close` only they are.
        """
        return self._phases.watch_data(batches, name)

    def phase(self, name: str) -> AbstractContextManager[None]:
        """A boundary around an `evaluation` or around the I/O of a `checkpoint`.

        Put a wait for peers outside of it: inside, everybody looks as slow as the
        slowest.

        Raises:
            ValueError: another phase; the others are seen by hooks.
        """
        return self._phases.enter(name)

    def on_verdict(self, listener: Callable[[Verdict], None]) -> None:
        """Call `listener` with every later verdict, in the training thread."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Remove every hook and end the observer; a second call does nothing."""
        self._close()

    def _note(self, verdict: Verdict) -> None:
        self._verdicts.append(verdict)
        for listener in self._listeners:
            listener(verdict)

    def _note_disabled(self, reason: str) -> None:
        self._disabled = reason
