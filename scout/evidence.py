"""One peer's part of a check as fixed words, and all peers' words as evidence.

    header words    [check, step, plan, structure, shapes, constants, trouble]
    evidence words  [usable, signature per surface..., wall, on-cpu, wait,
                     throttled per timing...]

Pure. `check` exchanges the words; nothing here does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scout.c3 import seconds_of, word_of
from scout.clock import Timing
from scout.consensus import Status, exact
from vocab.events import SurfaceEvidence, TimingEvidence

# Why a peer takes part in a check without evidence; the header has the index.
TROUBLES = (
    "",
    "it captured no training call of a sampled module",
    "a captured tensor was changed in place before the optimizer boundary",
    "no gradient arrived at a sampled module's output",
    "its diagnosis failed earlier",
)
NO_CAPTURE, CHANGED, NO_GRADIENT, BROKEN = range(1, len(TROUBLES))


_NOT_MEASURED = Timing(wall_s=-1.0, on_cpu_s=-1.0, run_wait_s=-1.0)
"""Sent for a phase that this rank did not enter: no duration is below 0."""

_WORDS = 4  # of a timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A compared or timed surface: name, recipe and the layer it belongs to."""

    name: str
    recipe: str
    layer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What must be equal on every peer before tensors are exchanged."""

    check: int
    step: int
    plan: int
    structure: int
    shapes: int
    constants: int
    trouble: int

    def words(self) -> list[int]:
        """The header as words, in field order."""
        return [self.check, self.step, self.plan, self.structure, self.shapes,
                self.constants, self.trouble]  # fmt: skip

    @classmethod
    def of(cls, words: Sequence[int]) -> Header:
        """The header that `words` made."""
        check, step, plan, structure, shapes, constants, trouble = words
        return cls(check=check, step=step, plan=plan, structure=structure,
                   shapes=shapes, constants=constants, trouble=trouble)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What the headers of all peers say: go on, or why not."""

    problem: str | None
    missing: tuple[int, ...]  # peers
    same_shapes: bool
    is_broken: bool  # a peer's diagnosis is broken: all switch off together


def agree(headers: Sequence[Header], group_ranks: Sequence[int]) -> Agreement:
    """Compare the headers; a difference is incomplete data, never an SDC (FACTS)."""
    troubled = tuple(i for i, header in enumerate(headers) if header.trouble)
    broken = any(header.trouble == BROKEN for header in headers)
    same_shapes = len({header.shapes for header in headers}) == 1
    problem = None
    for what, values in (
        ("are at different checks", [(h.check, h.step, h.plan) for h in headers]),
        ("captured different structures", [h.structure for h in headers]),
        ("got different non-tensor arguments", [h.constants for h in headers]),
    ):
        if problem is None and not troubled and len(set(values)) > 1:
            problem = f"peers {what}{_who(values, group_ranks)}"
    if troubled:
        first = headers[troubled[0]]
        names = ", ".join(f"rank{group_ranks[peer]}" for peer in troubled)
        problem = f"{names}: {TROUBLES[min(first.trouble, BROKEN)]}"
    return Agreement(
        problem=problem, missing=troubled, same_shapes=same_shapes, is_broken=broken
    )


def evidence_words(
    surfaces: Sequence[Surface],
    timings: Sequence[Surface],
    values: Mapping[str, int] | None,
    times: Mapping[str, Timing] | None,
) -> list[int]:
    """This peer's evidence; None where its replay failed (all words 0, not usable)."""
    if values is None or times is None:
        return [0] * (1 + len(surfaces) + _WORDS * len(timings))
    words = [1, *(values[surface.name] for surface in surfaces)]
    for timing in timings:
        taken = times.get(timing.name, _NOT_MEASURED)
        words += [word_of(taken.wall_s), word_of(taken.on_cpu_s),
                  word_of(taken.run_wait_s), word_of(taken.throttled_s)]  # fmt: skip
    return words


def assembled(
    surfaces: Sequence[Surface],
    timings: Sequence[Surface],
    rows: Sequence[Sequence[int]],
) -> tuple[tuple[SurfaceEvidence, ...], tuple[TimingEvidence, ...], tuple[int, ...]]:
    """(surface evidence, timing evidence, missing peers) of all peers' words.

    Statuses are those of exact consensus; timing statuses are left to `decide`.
    """
    missing = tuple(peer for peer, row in enumerate(rows) if row[0] != 1)
    usable = [row if row[0] == 1 else None for row in rows]
    found = []
    for index, surface in enumerate(surfaces, start=1):
        values = tuple(None if r is None else f"{r[index]:016x}" for r in usable)
        result = exact(values)
        found.append(
            SurfaceEvidence(
                surface=surface.name, recipe=surface.recipe, layer=surface.layer,
                values=values, status=result.status.value, bitmap=result.bitmap,
                k=result.k, n=result.n,
            )
        )  # fmt: skip
    timed = []
    for index, timing in enumerate(timings):
        at = 1 + len(surfaces) + _WORDS * index
        wall, cpu, wait, throttled = (
            tuple(None if r is None else _measured(r, at, part) for r in usable)
            for part in range(_WORDS)
        )
        timed.append(
            TimingEvidence(
                surface=timing.name, recipe=timing.recipe, layer=timing.layer,
                wall_s=wall, on_cpu_s=cpu, run_wait_s=wait, throttled_s=throttled,
                status=Status.INCOMPLETE.value, bitmap="?" * len(rows), statistic=None,
            )
        )  # fmt: skip
    return tuple(found), tuple(timed), missing


def shared_by_most(
    timings: Sequence[TimingEvidence],
) -> tuple[TimingEvidence, ...]:
    """Without what too few peers did to compare it, such as rank 0's checkpoints."""
    return tuple(
        timing
        for timing in timings
        if 2 * sum(value is not None for value in timing.wall_s) > len(timing.wall_s)
    )


def _measured(row: Sequence[int], at: int, part: int) -> float | None:
    is_absent = seconds_of(row[at]) < 0
    return None if is_absent else seconds_of(row[at + part])


def digest(*parts: object) -> int:
    """64-bit digest of the text of `parts`, equal in every process."""
    text = repr(parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _who(values: Sequence[object], group_ranks: Sequence[int]) -> str:
    result = exact([repr(value) for value in values])
    names = [
        f"rank{group_ranks[peer]}"
        for peer, outlier in enumerate(result.outliers)
        if outlier
    ]
    return f" ({', '.join(names)} against {result.k} others)" if names else ""
