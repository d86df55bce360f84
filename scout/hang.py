"""Says who stopped useful progress first, from all ranks' progress (SCOUT sec. 7).

Pure: the observer calls it on silence and on a death, re-analysis on the recorded
comparison; both get the same finding. It holds the ranks against each other, never
against who reported first: that is often a healthy victim.

    snapshots -> standings -> 1 a collective mismatch        whoever hangs or died of it
                              2 a crash                      first to die, no victim
                              3 a shifted sequence           a collective more or fewer
                              4 a rank behind a majority     divergence
                              5 a stopped process
                              6 somebody still moves, or     nothing yet
                                all others have finished
                              7 a silent host, missing data
                              8 equal progress, or a tie     group-scoped, inconclusive

Limits: needs a healthy strict majority of the whole group; a missing rank never counts
as agreeing. What no boundary and no collective shows stays group-scoped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scout import collective_rule, crash_rule, position_rule
from scout.hang_finding import HangFinding, Question
from scout.standing import stand
from vocab.events import ProgressCompared, ProgressSnapshot

_RULES: tuple[Callable[[Question], HangFinding | None], ...] = (
    collective_rule.collective_mismatch,
    crash_rule.crash,
    collective_rule.sequence_shift,
    position_rule.behind,
    position_rule.stopped,
    position_rule.not_yet,
    position_rule.silent_host,
    position_rule.incomplete,
)


def classify(
    snapshots: Sequence[ProgressSnapshot],
    *,
    group_ranks: Sequence[int],
    missing: Sequence[int],
    silent_s: float,
    threshold_s: float,
    silence_of: Callable[[str], float],
) -> HangFinding:
    """Classify one comparison.

    Args:
        snapshots: of every rank that answered, in any order.
        group_ranks: all ranks of the replica group.
        missing: those of them that did not answer.
        silent_s: silence of the rank whose observer compares.
        threshold_s: silence that its phase allows.
        silence_of: the same for every phase, `ScoutConfig.silence_of`.

    Raises:
        ValueError: snapshots and missing together are not exactly the group.
    """
    given = sorted([*(item.rank for item in snapshots), *missing])
    if given != sorted(group_ranks):
        raise ValueError(
            f"snapshots and missing cover ranks {given}; allowed: {sorted(group_ranks)}"
        )
    question = Question(
        standings=tuple(
            stand(item, silence_of) for item in sorted(snapshots, key=lambda s: s.rank)
        ),
        group_ranks=tuple(sorted(group_ranks)),
        missing=tuple(sorted(missing)),
        silent_s=silent_s,
        threshold_s=threshold_s,
    )
    for rule in _RULES:
        finding = rule(question)
        if finding is not None:
            return finding
    return position_rule.level(question)


def reclassify(
    event: ProgressCompared, silence_of: Callable[[str], float]
) -> HangFinding:
    """The finding of a recorded comparison."""
    return classify(
        event.snapshots,
        group_ranks=event.group_ranks,
        missing=event.missing,
        silent_s=event.silent_s,
        threshold_s=event.threshold_s,
        silence_of=silence_of,
    )
