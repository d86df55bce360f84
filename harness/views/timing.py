"""Timings as grids: ranks of a peer group × (check, interval). Pure (SCOUT 5.3).

Called by `run`; drawn by `harness.figures.timing`. A mark here is one raw comparison; a
straggler needs the floors and a second boundary as well (SCOUT sec. 10.2), which only
the verdict knows.

    one character a cell:  0 within the threshold   + slower   < faster
                           ~ undecided   ? missing   - not compared
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.views import evidence, wording
from harness.views.cards import StatisticView, statistic_view
from harness.views.folding import ALL, PeersOfRows, Zoom, rows
from harness.views.source import RunFacts
from scout.decide import charged_s
from vocab.events import CheckCompleted, TimingEvidence

WITHIN, SLOWER, FASTER = "0", "+", "<"
CELL_WORDS = {
    WITHIN: "within the threshold",
    SLOWER: "slower than the threshold",
    FASTER: "faster than the threshold",
    evidence.UNDECIDED: "undecided",
    evidence.MISSING: "missing",
    evidence.NOT_COMPARED: "not compared",
}


_SEVERITY = (evidence.NOT_COMPARED, WITHIN, FASTER, evidence.MISSING,
             evidence.UNDECIDED, SLOWER)  # fmt: skip


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

    `charged_s[r][c]` is what SCOUT compared (`scout.clock`), in seconds; a row of
    several ranks shows the slowest.
    """

    group: str
    ranks: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]  # first and last rank of each row
    num_ranks: int
    columns: tuple[TimingColumn, ...]
    cells: tuple[str, ...]
    charged_s: tuple[tuple[float | None, ...], ...]
    charged_text: tuple[tuple[str, ...], ...]


def timing(facts: RunFacts, zoom: Zoom = ALL) -> tuple[TimingGrid, ...]:
    """One grid per peer group, by name of the group."""
    by_group = evidence.checks_by_group(facts, zoom)
    return tuple(_grid(group, by_group[group], zoom) for group in sorted(by_group))


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


def _grid(
    group: str, checks: list[tuple[float, CheckCompleted]], zoom: Zoom
) -> TimingGrid:
    ranks = sorted({rank for _, check in checks for rank in check.group_ranks})
    shown = rows(ranks, zoom)
    peers = PeersOfRows(shown)
    columns: list[TimingColumn] = []
    cells: list[list[str]] = [[] for _ in shown]
    spent: list[list[float | None]] = [[] for _ in shown]
    for at_s, check in checks:
        peers_of = peers.of(check.group_ranks)
        for item in check.timings:
            times = charged_of(item)
            present = [value for value in times if value is not None]
            middle = median(present) if present else None
            columns.append(_column(at_s, check, item, middle))
            for row, members in enumerate(peers_of):
                char, value = _worst(item, members, times, middle)
                cells[row].append(char)
                spent[row].append(value)
    return TimingGrid(
        group=group,
        ranks=tuple(row.name for row in shown),
        spans=tuple((row.ranks[0], row.ranks[-1]) for row in shown),
        num_ranks=len(ranks),
        columns=tuple(columns),
        cells=tuple("".join(row) for row in cells),
        charged_s=tuple(tuple(row) for row in spent),
        charged_text=tuple(tuple(wording.seconds(s) for s in row) for row in spent),
    )


def _worst(
    item: TimingEvidence,
    peers: Sequence[int],
    times: tuple[float | None, ...],
    middle: float | None,
) -> tuple[str, float | None]:
    """(character, seconds) of a row: several ranks show the slowest that is marked."""
    found = [(_cell(item, p, times[p], middle), times[p]) for p in peers]
    if not found:
        return evidence.NOT_COMPARED, None
    return max(found, key=lambda pair: (_SEVERITY.index(pair[0]), pair[1] or 0.0))


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
