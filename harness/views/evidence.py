"""C3's evidence as grids: ranks of a peer group × (check, surface). Pure (SCOUT 5.4).

Called by `run`; drawn by `harness.figures.evidence`. A cell is what consensus wrote,
not a judgement of ours, so a clean run's grid is full of agreement.

    one character a cell:  0 agrees   1 outlier   ~ differs, nobody stands out
                           ? missing  - not compared

A row of several ranks (`folding`) shows the worst of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.views import wording
from harness.views.folding import (
    ALL,
    PeersOfRows,
    Zoom,
    rows,
    text_of,
    values_of,
)
from harness.views.source import RunFacts
from vocab.events import CheckCompleted, SurfaceEvidence
from vocab.names import rank_name

# Names of outliers that a column keeps; its bitmap has all.
MAX_MARKED = 12
_SEVERITY = "0?1"
AGREES, OUTLIER, UNDECIDED, MISSING, NOT_COMPARED = "0", "1", "~", "?", "-"
CELL_WORDS = {
    AGREES: "agrees",
    OUTLIER: "outlier",
    UNDECIDED: "differs, nobody stands out",
    MISSING: "missing",
    NOT_COMPARED: "not compared",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceColumn:
    """One compared surface of one check."""

    check: int
    step: int
    at_s: float
    recipe: str
    surface: str
    layer: str
    status: str
    k: int
    n: int
    votes_text: str
    problem: str
    marked: tuple[str, ...]  # the first outliers, by name
    num_marked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check in one line: the table behind the picture."""

    check: int
    step: int
    at_s: float
    layer: str
    source: str
    num_surfaces: int
    num_agreeing: int
    agreeing_text: str  # "24 of 24"
    outliers: tuple[str, ...]
    missing: tuple[str, ...]
    duration_text: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceGrid:
    """All exact comparisons of one peer group.

    `cells[r]` has one character per column for the r-th row; `values[r][c]` is its
    signature in hexadecimal, None where it is missing or the row has several ranks.
    """

    group: str
    ranks: tuple[str, ...]  # names of the rows: rank3, or rank0…255
    spans: tuple[tuple[int, int], ...]  # first and last rank of each row
    num_ranks: int
    columns: tuple[EvidenceColumn, ...]
    cells: tuple[str, ...]
    values: tuple[tuple[str | None, ...], ...]
    checks: tuple[CheckRow, ...]


def evidence(facts: RunFacts, zoom: Zoom = ALL) -> tuple[EvidenceGrid, ...]:
    """One grid per peer group, by name of the group."""
    by_group = checks_by_group(facts, zoom)
    return tuple(_grid(group, by_group[group], zoom) for group in sorted(by_group))


def checks_by_group(
    facts: RunFacts, zoom: Zoom = ALL
) -> dict[str, list[tuple[float, CheckCompleted]]]:
    """The wanted checks of each group that has any, each with its time in seconds."""
    found: dict[str, list[tuple[float, CheckCompleted]]] = {}
    for timed in facts.events:
        if isinstance(timed.event, CheckCompleted):
            checks = found.setdefault(timed.event.group, [])
            if zoom.has_check(timed.event.check):
                checks.append((facts.at_s(timed.at_ns), timed.event))
    return found


def notable(rows: Sequence[CheckRow], limit: int) -> tuple[CheckRow, ...]:
    """At most `limit` checks: those with a finding first, then the newest; by time."""
    if len(rows) <= limit:
        return tuple(rows)
    order = sorted(range(len(rows)), key=lambda i: (not _has_finding(rows[i]), -i))
    return tuple(rows[i] for i in sorted(order[:limit]))


def _has_finding(row: CheckRow) -> bool:
    return bool(row.outliers or row.missing or row.problem)


def cell(bit: str, status: str, *, is_present: bool) -> str:
    """The character of one cell.

    Args:
        bit: of C3's bitmap for this peer.
        status: of the comparison; an inconclusive one has an all-zero bitmap.
    """
    if bit == "?" or not is_present:
        return MISSING
    if status == "inconclusive":
        return UNDECIDED
    return OUTLIER if bit == "1" else AGREES


def _grid(
    group: str, checks: list[tuple[float, CheckCompleted]], zoom: Zoom
) -> EvidenceGrid:
    ranks = sorted({rank for _, check in checks for rank in check.group_ranks})
    shown = rows(ranks, zoom)
    peers = PeersOfRows(shown)
    columns: list[EvidenceColumn] = []
    cells: list[list[str]] = [[] for _ in shown]
    values: list[list[str | None]] = [[] for _ in shown]
    for at_s, check in checks:
        peers_of = peers.of(check.group_ranks)
        for surface in check.surfaces:
            columns.append(_column(at_s, check, surface))
            for row, members in enumerate(peers_of):
                char, value = _cell_of(surface, members)
                cells[row].append(char)
                values[row].append(value)
    return EvidenceGrid(
        group=group,
        ranks=tuple(row.name for row in shown),
        spans=tuple((row.ranks[0], row.ranks[-1]) for row in shown),
        num_ranks=len(ranks),
        columns=tuple(columns),
        cells=tuple("".join(row) for row in cells),
        values=tuple(tuple(row) for row in values),
        checks=tuple(_check_row(at_s, check) for at_s, check in checks),
    )


def _cell_of(surface: SurfaceEvidence, peers: Sequence[int]) -> tuple[str, str | None]:
    """(character, signature) of a row; several ranks show their worst."""
    if not peers or peers[0] >= len(surface.values):
        return NOT_COMPARED, None
    if len(peers) == 1:
        value = surface.values[peers[0]]
        bit = surface.bitmap[peers[0] : peers[0] + 1] or "?"
        return cell(bit, surface.status, is_present=value is not None), value
    bits = text_of(surface.bitmap, peers)
    is_present = None not in values_of(surface.values, peers)
    worst = max(bits or "?", key=_SEVERITY.index)
    if worst == "1" and surface.status != "inconclusive":
        return OUTLIER, None
    return cell(worst, surface.status, is_present=is_present), None


def _column(
    at_s: float, check: CheckCompleted, surface: SurfaceEvidence
) -> EvidenceColumn:
    return EvidenceColumn(
        check=check.check,
        step=check.step,
        at_s=at_s,
        recipe=surface.recipe,
        surface=surface.surface,
        layer=surface.layer or "",
        status=surface.status,
        k=surface.k,
        n=surface.n,
        votes_text=wording.k_of_n(surface.k, surface.n),
        problem=check.problem or "",
        marked=tuple(
            rank_name(check.group_ranks[peer]) for peer in peers_at("1", surface.bitmap)
        ),
        num_marked=surface.bitmap.count("1"),
    )


def peers_at(bit: str, bitmap: str, limit: int = MAX_MARKED) -> Iterator[int]:
    """The first peers that have this bit."""
    peer = bitmap.find(bit)
    while peer >= 0 and limit > 0:
        yield peer
        peer, limit = bitmap.find(bit, peer + 1), limit - 1


def _check_row(at_s: float, check: CheckCompleted) -> CheckRow:
    agreeing = sum(surface.k == surface.n for surface in check.surfaces)
    outliers = {
        check.group_ranks[peer]
        for surface in check.surfaces
        for peer in peers_at("1", surface.bitmap, len(surface.bitmap))
    }
    source = "" if check.source_rank is None else rank_name(check.source_rank)
    return CheckRow(
        check=check.check,
        step=check.step,
        at_s=at_s,
        layer=check.layer or "",
        source=source,
        num_surfaces=len(check.surfaces),
        num_agreeing=agreeing,
        agreeing_text=wording.k_of_n(agreeing, len(check.surfaces)),
        outliers=tuple(rank_name(rank) for rank in sorted(outliers)),
        missing=tuple(rank_name(rank) for rank in check.missing),
        duration_text=wording.seconds(check.duration_s),
        problem=check.problem or "",
    )
