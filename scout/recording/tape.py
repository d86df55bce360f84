"""Numbers a process's collectives by the role of their group, and publishes them.

One tape a process; no torch. Numbers count from the first collective on, also while no
ring is there yet, so that they mean the same on every rank. Called by `process_group`
for every operation and by `scout.watch`, which attaches the ring and says where in the
step the rank is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from scout.progress import ProgressRing

Begun = tuple[ProgressRing, int]
"""A published operation: its ring and token."""


class Waits(Protocol):
    """Who wants to know when this process waits for peers: `scout.collective_time`."""

    def hold(self) -> None:
        """It begins to wait."""

    def release(self) -> None:
        """The wait is over."""

    def spoil(self) -> None:
        """Something was launched that is waited for elsewhere."""


class Tape:
    """What all recording groups of this process write to."""

    def __init__(self) -> None:
        self.waits: Waits | None = None
        self._ring: ProgressRing | None = None
        self._is_off = False
        self._step = 0
        self._phase = "startup"
        self._numbers: Counter[str] = Counter()
        self._roles: Counter[str] = Counter()
        self._lock = threading.Lock()  # groups are made seldom; collectives take none

    def attach(self, ring: ProgressRing) -> None:
        """Publish into `ring` from now on."""
        self._ring = ring

    def detach(self) -> None:
        """Stop publishing, go on counting."""
        self._ring = None

    def fail(self) -> None:
        """Publish nothing ever again: numbers may be off by one from here on."""
        self._is_off = True

    @property
    def is_off(self) -> bool:
        """Whether recording failed on this rank."""
        return self._is_off

    def move(self, step: int, phase: str) -> None:
        """The boundary that collectives belong to until the next one."""
        self._step, self._phase = step, phase

    def role_of(self, ranks: Sequence[int], description: str) -> str:
        """Name a new group by its role, the same on every replica of it.

        Peers make their groups in the same order, so equal roles are told apart by a
        running number.

        Args:
            ranks: global ranks of the group; empty means all.
            description: what PyTorch knows of it, such as a mesh axis.
        """
        role = _role(ranks, description)
        with self._lock:
            count = self._roles[role]
            self._roles[role] += 1
        return f"{role}#{count}" if count else role

    def begin(self, role: str, name: str, fingerprint: str | None) -> Begun | None:
        """A collective begins; returns what `end` wants, None if nobody listens.

        Without a fingerprint (point to point) it is published, and neither counted nor
        compared: peers of one stage may send in different orders.
        """
        number: int | None = None
        if fingerprint is not None:
            number = self._numbers[role]
            self._numbers[role] = number + 1
        ring = self._ring
        if ring is None or self._is_off:
            return None
        token = ring.enter(
            self._step,
            self._phase,
            name,
            group_role=role,
            group_seq=number,
            fingerprint=fingerprint,
        )
        return ring, token

    def end(self, begun: Begun | None) -> None:
        """The call came back."""
        if begun is not None and begun[0] is self._ring and not self._is_off:
            begun[0].leave(begun[1])


def _role(ranks: Sequence[int], description: str) -> str:
    if not ranks:
        return "world"
    if description not in ("", "undefined", "default_pg"):
        return description
    ordered = sorted(ranks)
    strides = {b - a for a, b in zip(ordered, ordered[1:], strict=False)}
    if len(strides) == 1:
        return f"ranks{len(ordered)}x{strides.pop()}"
    return f"ranks{len(ordered)}"
