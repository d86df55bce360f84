"""What the hang classifier says: the value that its rules make and the verdict shows.

Pure values. `Question` is one comparison as all rules read it; a rule answers with a
`HangFinding` or passes on with None.
"""

from __future__ import annotations

from dataclasses import dataclass

from scout.standing import Standing
from vocab.names import rank_name
from vocab.verdict import Action, Heading, Kind, Scope, State, Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The progress of a whole group, gathered after one of its ranks fell silent."""

    standings: tuple[Standing, ...]  # of the ranks that answered, by rank
    group_ranks: tuple[int, ...]
    missing: tuple[int, ...]
    silent_s: float  # silence of the rank whose observer asked
    threshold_s: float  # its phase's threshold

    @property
    def n(self) -> int:
        """Ranks of the group: missing ones count, and never as agreeing."""
        return len(self.group_ranks)

    @property
    def alive(self) -> tuple[Standing, ...]:
        """Ranks that could still move."""
        return tuple(item for item in self.standings if not item.is_over)

    @property
    def all_stalled(self) -> bool:
        """Whether nobody who could move did so for as long as its phase allows."""
        return all(item.is_stalled for item in self.alive)

    def is_majority(self, count: int) -> bool:
        """Whether `count` ranks are a strict majority of the group."""
        return 2 * count > self.n

    def of(self, rank: int) -> Standing | None:
        """The standing of `rank`; None: missing."""
        return next((item for item in self.standings if item.rank == rank), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HangFinding:
    """Who stopped useful progress first, or why nobody can be named.

    `state` HEALTHY means that there is nothing to report (yet): somebody still moves,
    or may be silent for longer. `k` ranks of `n` hold the majority's side.
    """

    kind: Kind
    state: State
    scope: Scope
    reason_code: str
    reason: str
    action: Action
    group_ranks: tuple[int, ...]
    blamed: tuple[int, ...] = ()
    victims: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    heading: Heading | None = None
    k: int
    n: int
    statistic: Statistic
    step: int | None = None
    phase: str | None = None
    layer: str | None = None
    surface: str | None = None
    stall_s: float | None = None
    needed: str | None = None


def silence(question: Question, standing: Standing | None = None) -> Statistic:
    """The statistic of every stall: how long a rank was silent, and how long it may be.

    Without `standing` it is the rank whose observer asked.
    """
    if standing is None:
        value, threshold, phase = question.silent_s, question.threshold_s, "phase"
    else:
        value, threshold = standing.age_s, standing.threshold_s
        phase = standing.phase
    return Statistic(
        name="silence",
        value=value,
        threshold=threshold,
        expression=f"silence > threshold({phase})",
        unit="s",
    )


def waiting_ranks(question: Question, but: tuple[int, ...]) -> tuple[int, ...]:
    """Victims: ranks that wait for others or died of it, without those in `but`."""
    return tuple(
        item.rank
        for item in question.standings
        if item.rank not in but and not item.is_finished
        and (item.waits or item.is_dead or item.is_stalled)
    )  # fmt: skip


def name_ranks(ranks: tuple[int, ...]) -> str:
    """`rank1`, `rank1 and rank2`, `rank1, rank2 and rank3`."""
    names = [rank_name(rank) for rank in ranks]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def verb(ranks: tuple[int, ...], one: str, many: str) -> str:
    """The verb's form that fits the number of ranks."""
    return one if len(ranks) == 1 else many
