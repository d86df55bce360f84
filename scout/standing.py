"""Where one rank stands, and which of two ranks is beyond the other (SCOUT sec. 7).

Pure. Made from a progress snapshot; used by the hang classifier and its rules.

    (step, op)   the coordinate that all peers of a replica group pass alike
    lanes        evaluation and checkpoint, which a single rank may enter: they order
                 two ranks only at the same coordinate, and only where both took part
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vocab.events import ProgressSnapshot, RingEntry

NOWHERE = (-1, -1)

NO_STEP = -1
"""`step` of an entry whose source knows no steps, such as a flight-recorder dump."""

WAITING_PHASES = ("reduce",)
"""Phases that wait for peers by nature, also where no collective is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One rank at the moment of a comparison."""

    rank: int
    entry: RingEntry | None  # newest; None: nothing was entered yet
    ring: tuple[RingEntry, ...]
    place: tuple[int, int]  # (step, op)
    lanes: Mapping[str, int]  # lane -> newest number at this place
    age_s: float
    threshold_s: float
    state: str
    exit_code: int | None
    signal: int | None
    gone_s: float | None

    @property
    def phase(self) -> str:
        """Phase of the newest entry."""
        return "startup" if self.entry is None else self.entry.phase

    @property
    def is_stalled(self) -> bool:
        """Silent for longer than its own phase allows."""
        return not self.is_over and self.age_s >= self.threshold_s

    @property
    def is_dead(self) -> bool:
        """Its process ended without goodbye, and not with exit code 0."""
        return self.state in ("gone", "Z", "X", "x") and self.exit_code != 0

    @property
    def is_finished(self) -> bool:
        """It said goodbye, or ended with exit code 0."""
        return self.state == "finished" or (
            self.state in ("gone", "Z", "X", "x") and self.exit_code == 0
        )

    @property
    def is_over(self) -> bool:
        """No process is left that could move on."""
        return self.is_dead or self.is_finished

    @property
    def is_stopped(self) -> bool:
        """Stopped by a signal or a debugger: its own doing, never a peer's."""
        return self.state in ("T", "t")

    @property
    def waits(self) -> bool:
        """Inside an operation that other ranks must join."""
        entry = self.entry
        if entry is None or entry.left_ns is not None:
            return False
        return entry.group_role is not None or entry.phase in WAITING_PHASES

    @property
    def may_wait(self) -> bool:
        """Waits, or computes in a step in which it has launched a collective.

        A collective that is launched from C++ (FSDP's, DDP's) is waited for out of our
        sight, inside the forward or backward pass.
        """
        entry = self.entry
        if self.waits or entry is None:
            return self.waits
        return entry.phase in ("forward", "backward") and any(
            item.group_role is not None and item.step == entry.step
            for item in self.ring
        )


def stand(snapshot: ProgressSnapshot, silence_of: Callable[[str], float]) -> Standing:
    """Read a snapshot; `silence_of` gives the seconds that a phase may be silent."""
    ring = snapshot.ring
    entry = ring[-1] if ring else None
    place = NOWHERE if entry is None else (entry.step, entry.op)
    lanes = {
        item.phase: item.lane_op
        for item in ring
        if item.lane_op is not None and (item.step, item.op) == place
    }
    return Standing(
        rank=snapshot.rank,
        entry=entry,
        ring=ring,
        place=place,
        lanes=lanes,
        age_s=snapshot.age_s,
        threshold_s=silence_of("startup" if entry is None else entry.phase),
        state=snapshot.trainer_state,
        exit_code=snapshot.exit_code,
        signal=snapshot.signal,
        gone_s=snapshot.gone_s,
    )


def is_beyond(a: Standing, b: Standing) -> bool:
    """Whether `a` surely got further than `b`."""
    if a.is_finished or b.is_finished:
        return a.is_finished and not b.is_finished
    if a.place != b.place:
        return a.place > b.place
    ahead = {lane for lane in {*a.lanes, *b.lanes} if _in(a, lane) > _in(b, lane)}
    behind = {lane for lane in {*a.lanes, *b.lanes} if _in(a, lane) < _in(b, lane)}
    return bool(ahead) and not behind


def is_level(a: Standing, b: Standing) -> bool:
    """Whether both stand at the same place."""
    if a.is_finished or b.is_finished:
        return a.is_finished and b.is_finished
    return a.place == b.place and dict(a.lanes) == dict(b.lanes)


def describe_place(standing: Standing) -> str:
    """In words, after "stopped" or "waits": `in the forward pass of layers.1`."""
    entry = standing.entry
    if standing.is_finished:
        return "after its last step"
    if entry is None:
        return "before its first step"
    if entry.step == NO_STEP:
        return describe_entry(entry)
    return f"{describe_entry(entry)} {_of_step(entry)} {entry.step}"


def describe_entry(entry: RingEntry) -> str:
    """One boundary or collective in words, with its preposition."""
    left = entry.left_ns is not None
    if entry.group_role is not None:
        number = "" if entry.group_seq is None else f" {entry.group_seq}"
        within = f"{entry.name}{number} of group {entry.group_role}"
        return f"{'after' if left else 'in'} {within}"
    return f"{'after' if left else 'in'} {_PHASE_WORDS[entry.phase].format(entry.name)}"


def describe_end(standing: Standing) -> str:
    """How a dead rank's process ended."""
    if standing.signal is not None:
        return f"was killed by {_signal_name(standing.signal)}"
    if standing.exit_code is not None:
        return f"ended with exit code {standing.exit_code}"
    return "is gone"


_PHASE_WORDS = {
    "startup": "the start-up ({})",
    "data": "the data loading ({})",
    "forward": "the forward pass of {}",
    "backward": "the backward pass of {}",
    "reduce": "the gradient reduction",
    "optimizer": "the optimizer update",
    "check": "SCOUT's own check",
    "evaluation": "the evaluation ({})",
    "checkpoint": "the checkpoint ({})",
}


def _of_step(entry: RingEntry) -> str:
    return "of step" if entry.phase in ("reduce", "optimizer") else "at step"


def _in(standing: Standing, lane: str) -> int:
    return standing.lanes.get(lane, -1)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
