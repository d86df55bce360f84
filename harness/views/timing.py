"""Timings as grids: ranks of a peer group × (check, interval). Pure (SCOUT 5.3).

Called by `run`; drawn by `harness.figures.timing`. A mark here is one raw comparison; a
straggler needs the floors and a second boundary as well (SCOUT sec. 10.2), which only
the verdict knows.

    one character a cell:  0 within the threshold   + slower   < faster
                           ~ undecided   ? missing   - not compared
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from harness.views import evidence, wording
from harness.views.cards import StatisticView, statistic_view
from harness.views.source import RunFacts
from scout.decide import charged_s
from vocab.events import CheckCompleted, TimingEvidence
from vocab.names import rank_name

WITHIN, SLOWER, FASTER = "0", "+", "<"
CELL_WORDS = {
    WITHIN: "within the threshold",
    SLOWER: "slower than the threshold",
    FASTER: "faster than the threshold",
    evidence.UNDECIDED: "undecided",
    evidence.MISSING: "missing",
    evidence.NOT_COMPARED: "not compared",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingColumn:
    """One timed interval of one check, with the number that was compared."""

    check: int
    step: int
    at_s: float
    recipe: str
    surface: str
    layer: str
    status: str
    median_s: float | None
    median_text: str
    statistic: StatisticView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingGrid:
    """All timed intervals of one peer group.

    `charged_s[r][c]` is what SCOUT compared (`scout.clock`), in seconds.
    """

    group: str
    ranks: tuple[str, ...]
    columns: tuple[TimingColumn, ...]
    cells: tuple[str, ...]
    charged_s: tuple[tuple[float | None, ...], ...]
    charged_text: tuple[tuple[str, ...], ...]


def timing(facts: RunFacts) -> tuple[TimingGrid, ...]:
    """One grid per peer group, by name of the group."""
    by_group: dict[str, list[tuple[float, CheckCompleted]]] = {}
    for timed in facts.events:
        if isinstance(timed.event, CheckCompleted):
            place = (facts.at_s(timed.at_ns), timed.event)
            by_group.setdefault(timed.event.group, []).append(place)
    return tuple(_grid(group, by_group[group]) for group in sorted(by_group))


def notable(grid: TimingGrid, limit: int) -> tuple[int, ...]:
    """At most `limit` columns: those with a mark first, then the newest; by time."""
    columns = range(len(grid.columns))
    plain = {WITHIN, evidence.NOT_COMPARED}
    order = sorted(
        columns, key=lambda c: (all(row[c] in plain for row in grid.cells), -c)
    )
    return tuple(sorted(order[:limit]))


def charged_of(timing: TimingEvidence) -> tuple[float | None, ...]:
    """What SCOUT compared for every peer; None where a peer has no full reading."""
    return charged_s(timing)


def _grid(group: str, checks: list[tuple[float, CheckCompleted]]) -> TimingGrid:
    ranks = sorted({rank for _, check in checks for rank in check.group_ranks})
    columns: list[TimingColumn] = []
    cells: list[list[str]] = [[] for _ in ranks]
    spent: list[list[float | None]] = [[] for _ in ranks]
    for at_s, check in checks:
        peer_of = {rank: peer for peer, rank in enumerate(check.group_ranks)}
        for item in check.timings:
            times = charged_of(item)
            present = [value for value in times if value is not None]
            middle = median(present) if present else None
            columns.append(_column(at_s, check, item, middle))
            for row, rank in enumerate(ranks):
                peer = peer_of.get(rank)
                value = None if peer is None else times[peer]
                cells[row].append(_cell(item, peer, value, middle))
                spent[row].append(value)
    return TimingGrid(
        group=group,
        ranks=tuple(rank_name(rank) for rank in ranks),
        columns=tuple(columns),
        cells=tuple("".join(row) for row in cells),
        charged_s=tuple(tuple(row) for row in spent),
        charged_text=tuple(tuple(wording.seconds(s) for s in row) for row in spent),
    )


def _cell(
    item: TimingEvidence, peer: int | None, value: float | None, middle: float | None
) -> str:
    if peer is None:
        return evidence.NOT_COMPARED
    bit = item.bitmap[peer : peer + 1] or "?"
    char = evidence.cell(bit, item.status, is_present=value is not None)
    if char != evidence.OUTLIER or value is None or middle is None:
        return char
    return SLOWER if value > middle else FASTER


def _column(
    at_s: float, check: CheckCompleted, item: TimingEvidence, middle: float | None
) -> TimingColumn:
    return TimingColumn(
        check=check.check,
        step=check.step,
        at_s=at_s,
        recipe=item.recipe,
        surface=item.surface,
        layer=item.layer or "",
        status=item.status,
        median_s=middle,
        median_text=wording.seconds(middle),
        statistic=statistic_view(item.statistic),
    )
