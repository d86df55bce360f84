"""What publishing progress costs a training step (SCOUT sec. 7; issue 3: 2 us).

Run by `registry`. Times `ProgressRing.enter` and `leave` against the budget, and a
boundary of one rank against the cheapest possible way of putting it into the file.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.claim import Claim, compared
from benchmarks.interleaved import median_seconds
from scout.progress import ProgressRing
from scout.ring_layout import RECORD

BUDGET_US = 2.0
_FINGERPRINT = "all_reduce|sum|float32|[1048576]|root=-"


def claims(rounds: int = 200, calls: int = 500) -> Iterator[Claim]:
    """The claims of issue 3 on publishing."""
    with tempfile.TemporaryDirectory(dir=_folder()) as folder:
        ring = ProgressRing.create(Path(folder) / "ring", rank=0)
        try:
            yield from _claims(ring, rounds, calls)
        finally:
            ring.close()


def _claims(ring: ProgressRing, rounds: int, calls: int) -> Iterator[Claim]:
    numbers = itertools.count()
    buffer = bytearray(RECORD.size)

    def collective() -> None:
        ring.enter(
            7,
            "reduce",
            "all_reduce",
            group_role="replicate",
            group_seq=next(numbers),
            fingerprint=_FINGERPRINT,
        )

    functions: dict[str, Callable[[], object]] = {
        "enter": partial(ring.enter, 7, "forward", "layers.1"),
        "leave": partial(ring.leave, 0),
        "collective": collective,
        "pack": partial(RECORD.pack_into, buffer, 0, *range(12)),
    }
    seconds = median_seconds(functions, rounds=rounds, calls=calls)
    micro = {name: value * 1e6 for name, value in seconds.items()}
    budget = "baseline: the budget of 2 us"
    for name, what in (
        ("enter", "entering a boundary"),
        ("leave", "leaving a boundary"),
        ("collective", "entering a collective with its fingerprint"),
    ):
        yield compared(
            name=f"publish cost of {what}",
            value=micro[name],
            unit="us",
            baseline=BUDGET_US,
            note=budget,
            at_most=1,
        )
    yield compared(
        name="publish cost against packing the record alone",
        value=micro["enter"],
        unit="us",
        baseline=micro["pack"],
        note="baseline: struct.pack_into of twelve words into private memory",
    )


def _folder() -> str | None:
    """Shared memory, where rings lie; None: the default for temporary files."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() else None
