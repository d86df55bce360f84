"""What all members of a collective must agree on, as one short text (SCOUT sec. 7).

    all_reduce|sum|float32|[1024]|root=-

Pure text: the recording backend writes it, the hang classifier compares it. A field
that healthy callers may differ in (the splits of an AllToAll, the peer of a send) is
`*`: the compatibility rule for legitimately rank-dependent values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

FIELDS = ("op", "reduction", "dtype", "shape", "root")
ANY = "*"
NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The five fields; `-` where an operation has none, `*` where it may differ."""

    op: str
    reduction: str = NONE
    dtype: str = NONE
    shape: str = NONE
    root: str = NONE

    def __str__(self) -> str:
        return f"{self.op}|{self.reduction}|{self.dtype}|{self.shape}|root={self.root}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What most ranks published, and who published something else."""

    reference: str
    agree: tuple[int, ...]
    differ: tuple[int, ...]


def parse(text: str) -> Fingerprint:
    """Read a fingerprint.

    Raises:
        ValueError: not five fields of this form.
    """
    parts = text.split("|")
    if len(parts) != len(FIELDS) or not parts[4].startswith("root="):
        raise ValueError(
            f"fingerprint is {text!r}; allowed: op|reduction|dtype|shape|root=..."
        )
    op, reduction, dtype, shape, root = parts
    return Fingerprint(
        op=op, reduction=reduction, dtype=dtype, shape=shape,
        root=root.removeprefix("root="),
    )  # fmt: skip


def differing_fields(a: str, b: str) -> tuple[str, ...]:
    """Names of the fields in which two fingerprints are incompatible; () if none."""
    if a == b:
        return ()
    try:
        one, other = parse(a), parse(b)
    except ValueError:
        return ("fingerprint",)  # of another format: different, one cannot say in what
    return tuple(
        name
        for name in FIELDS
        if (mine := getattr(one, name)) != (yours := getattr(other, name))
        and ANY not in (mine, yours)
    )


def agreement(published: Mapping[int, str]) -> Agreement:
    """Hold every rank's fingerprint of one collective against the most frequent one.

    Ties go to the text that sorts first, so that every observer sees the same.
    """
    counts = Counter(published.values())
    reference = min(counts, key=lambda text: (-counts[text], text))
    differ = tuple(
        rank
        for rank, text in sorted(published.items())
        if differing_fields(reference, text)
    )
    agree = tuple(rank for rank in sorted(published) if rank not in differ)
    return Agreement(reference=reference, agree=agree, differ=differ)
