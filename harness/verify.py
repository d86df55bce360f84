"""Hold a run's stored verdicts against those that its evidence gives (DESIGN sec. 2.4).

Called by `faultyard verify`. Never writes into the run, and never reads the truth: it
sees what `harness.analyze` sees. What is missing is said before anything is compared,
because verdicts from half the evidence prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.analyze import evidence_of, recompute, stored, without_time
from harness.errors import ScenarioError
from harness.store import RunDirectory
from vocab.codec import to_json
from vocab.events import Stamped, UnreadableLine
from vocab.fabric_events import FabricReady
from vocab.names import leaf_name
from vocab.verdict import Verdict

ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first field that differs; a side without that field says `ABSENT`."""

    field: str
    stored: Any
    recomputed: Any

    def __str__(self) -> str:
        return f"{self.field}: stored {self.stored!r}, recomputed {self.recomputed!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a re-run of the deciders says about a run's stored verdicts."""

    num_stored: int | None  # None: not compared, evidence is missing
    num_recomputed: int | None
    missing: tuple[str, ...]
    difference: Difference | None

    @property
    def is_identical(self) -> bool:
        """Every verdict was recomputed, and each field is the same."""
        return not self.missing and self.difference is None


def verify(run: RunDirectory) -> Verification:
    """Recompute every verdict of a run and compare it with what is stored."""
    missing = missing_evidence(run)
    if not missing:
        try:
            again = recompute(run)
        except ScenarioError as error:
            missing = (f"scenario.yaml: {error}",)
    if missing:
        return Verification(
            num_stored=None,
            num_recomputed=None,
            missing=missing,
            difference=None,
        )
    told = stored(run)
    return Verification(
        num_stored=len(told),
        num_recomputed=len(again),
        missing=(),
        difference=first_difference(told, again),
    )


def missing_evidence(run: RunDirectory) -> tuple[str, ...]:
    """What the deciders need and the run has no more, one line each."""
    return tuple(_missing(run))


def first_difference(
    told: tuple[Verdict, ...], again: tuple[Verdict, ...]
) -> Difference | None:
    """The first field, in the order of the verdicts, that is not the same; or None."""
    sides = [[to_json(without_time(item)) for item in side] for side in (told, again)]
    return next(_differences("verdicts", *sides), None)


def _differences(where: str, left: Any, right: Any) -> Iterator[Difference]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            yield from _differences(
                f"{where}.{key}", left.get(key, ABSENT), right.get(key, ABSENT)
            )
    elif isinstance(left, list) and isinstance(right, list):
        for at in range(max(len(left), len(right))):
            yield from _differences(
                f"{where}[{at}]",
                left[at] if at < len(left) else ABSENT,
                right[at] if at < len(right) else ABSENT,
            )
    elif left != right:
        yield Difference(field=where, stored=left, recomputed=right)


def _missing(run: RunDirectory) -> Iterator[str]:
    """What the run once had and has no more, or cannot be read."""
    events = evidence_of(run)
    if not events:
        yield f"{run.events}: no events of any rank or observer"
        return
    meta = run.meta()
    for rank in range(meta.num_ranks if meta else 0):
        if not (run.events / f"rank{rank}.jsonl").is_file():
            yield f"rank{rank}.jsonl: no such file"
    yield from _missing_of_fabric(run, events)
    seqs: dict[str, set[int]] = {}
    for stamped in events:
        if isinstance(stamped.event, UnreadableLine):
            broken = stamped.event
            yield f"{broken.file}: unreadable at byte {broken.offset}: {broken.error}"
        else:
            seqs.setdefault(stamped.source, set()).add(stamped.seq)
    for source, have in sorted(seqs.items()):
        lost = sorted(set(range(max(have))) - have)
        if lost:  # a writer counts without gaps
            yield f"{source}.jsonl: {len(lost)} events are gone, the first is {lost[0]}"
    yield from _lost_references(run, events)


def _missing_of_fabric(run: RunDirectory, events: list[Stamped]) -> Iterator[str]:
    for stamped in events:
        if isinstance(stamped.event, FabricReady):
            for leaf in range(stamped.event.num_leaves):
                if not (run.events / f"{leaf_name(leaf)}.jsonl").is_file():
                    yield f"{leaf_name(leaf)}.jsonl: no such file"
            return
    if any(item.source.startswith("leaf") for item in events):
        yield "fabric.jsonl: no FabricReady, which says what the leaves compare with"


def _lost_references(run: RunDirectory, events: list[Stamped]) -> Iterator[str]:
    have = {(stamped.source, stamped.seq) for stamped in events}
    for verdict in stored(run):
        for ref in verdict.evidence:
            if (ref.source, ref.seq) not in have:
                yield f"{ref.source}.jsonl: event {ref.seq} of {verdict.verdict_id}"
