"""Builds progress snapshots for tests: what a data-parallel rank publishes."""

from __future__ import annotations

from collections.abc import Sequence

from scout.config import ScoutConfig
from scout.fingerprint import Fingerprint
from scout.hang import classify
from scout.hang_finding import HangFinding
from vocab.events import ProgressSnapshot, RingEntry

LAYERS = ("layers.0", "layers.1", "layers.2")
STEP: tuple[tuple[str, str], ...] = (
    ("data", "next batch"),
    *(("forward", name) for name in LAYERS),
    *(("backward", name) for name in reversed(LAYERS)),
    ("reduce", "gradients"),
    ("optimizer", "update"),
)
"""Boundaries of one step in order; what tier (b) sees of DDP."""

THRESHOLD_S = 5.0
CONFIG = ScoutConfig(
    silence_s=THRESHOLD_S,
    silence_by_phase_s={"checkpoint": 600.0, "evaluation": 60.0},
)


def place(phase: str, name: str | None = None) -> int:
    """Index in `STEP` of a phase (of a layer)."""
    return next(
        index for index, (a, b) in enumerate(STEP) if a == phase and name in (None, b)
    )


def fingerprint(op: str = "all_reduce", **fields: str) -> str:
    """A fingerprint that differs from the usual one only in `fields`."""
    usual = {"reduction": "sum", "dtype": "float32", "shape": "[1024]"}
    return str(Fingerprint(op=op, **{**usual, **fields}))


def boundaries(step: int, op: int, first_step: int = 1) -> list[RingEntry]:
    """Entries from the beginning of `first_step` up to boundary `op` of `step`."""
    entries: list[RingEntry] = []
    for number in range(first_step, step + 1):
        for index, (phase, name) in enumerate(STEP):
            if (number, index) <= (step, op):
                entries.append(
                    RingEntry(
                        seq=len(entries), step=number, op=index, phase=phase, name=name
                    )
                )
    return entries


def collectives(
    step: int, calls: Sequence[str], *, first_seq: int = 0, done: int | None = None
) -> list[RingEntry]:
    """One step that consists of collectives of group `replicate`; the last pends.

    `done`: how many of them were left; by default all but the last.
    """
    left = len(calls) - 1 if done is None else done
    return [
        RingEntry(
            seq=first_seq + index,
            step=step,
            op=index,
            phase="reduce",
            name=call.split("|")[0],
            group_role="replicate",
            group_seq=first_seq + index,
            fingerprint=call,
            left_ns=1 if index < left else None,
        )
        for index, call in enumerate(calls)
    ]


def snapshot(
    rank: int,
    ring: Sequence[RingEntry],
    *,
    age_s: float = THRESHOLD_S + 0.5,
    state: str = "S",
    exit_code: int | None = None,
    signal: int | None = None,
    gone_s: float | None = None,
) -> ProgressSnapshot:
    """A snapshot of a rank that has been silent for longer than usual phases allow."""
    return ProgressSnapshot(
        rank=rank,
        ring=tuple(ring),
        age_s=age_s,
        trainer_state=state,
        exit_code=exit_code,
        signal=signal,
        gone_s=gone_s,
    )


def classify_group(
    snapshots: Sequence[ProgressSnapshot],
    *,
    missing: Sequence[int] = (),
    silent_s: float = THRESHOLD_S + 0.5,
) -> HangFinding:
    """Classify a group that consists of `snapshots` and the `missing` ranks."""
    ranks = sorted([*(item.rank for item in snapshots), *missing])
    return classify(
        snapshots,
        group_ranks=ranks,
        missing=missing,
        silent_s=silent_s,
        threshold_s=THRESHOLD_S,
        silence_of=CONFIG.silence_of,
    )
