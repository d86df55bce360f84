"""Which ranks have begun or ended the step's exchange. Pure.

Called by `simulated` with every message of a rank; says when the next half can be
played. A step begins when all have announced it, and ends when all wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one rank says."""

    rank: int
    begin: int | None = None  # step
    finish: int | None = None  # step
    job_bytes: int = 0
    leaves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What follows from a message; steps."""

    begins: int | None = None
    finishes: int | None = None


@dataclass(slots=True)
class Exchange:
    """The step under way."""

    num_ranks: int
    job_bytes: int = 0
    num_left: int = 0
    _begun: dict[int, set[int]] = field(default_factory=dict)  # step -> ranks
    _finishing: dict[int, set[int]] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks that the others wait for; () between two steps."""
        waiting = self._finishing or self._begun
        if not waiting:
            return ()
        step = min(waiting)
        return tuple(sorted(set(range(self.num_ranks)) - waiting[step]))

    def on_message(self, message: Message) -> Happened:
        """A rank said something."""
        if message.leaves:
            self.num_left += 1
            return Happened()
        if message.begin is not None:
            self.job_bytes = max(self.job_bytes, message.job_bytes)
            return Happened(begins=self._all(self._begun, message.begin, message.rank))
        if message.finish is not None:
            step = self._all(self._finishing, message.finish, message.rank)
            return Happened(finishes=step)
        return Happened()

    def _all(self, of: dict[int, set[int]], step: int, rank: int) -> int | None:
        of.setdefault(step, set()).add(rank)
        if len(of[step]) < self.num_ranks:
            return None
        del of[step]
        return step
