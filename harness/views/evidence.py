"""C3's evidence as grids: ranks of a peer group × (check, surface). Pure (SCOUT 5.4).

Called by `run`; drawn by `harness.figures.evidence`. A cell is what consensus wrote,
not a judgement of ours, so a clean run's grid is full of agreement.

    one character a cell:  0 agrees   1 outlier   ~ differs, nobody stands out
                           ? missing  - not compared
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.views import wording
from harness.views.source import RunFacts
from vocab.events import CheckCompleted, SurfaceEvidence
from vocab.names import rank_name

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

    `cells[r]` has one character per column for the r-th rank; `values[r][c]` is its
    signature in hexadecimal, None where it is missing.
    """

    group: str
    ranks: tuple[str, ...]
    columns: tuple[EvidenceColumn, ...]
    cells: tuple[str, ...]
    values: tuple[tuple[str | None, ...], ...]
    checks: tuple[CheckRow, ...]


def evidence(facts: RunFacts) -> tuple[EvidenceGrid, ...]:
    """One grid per peer group, by name of the group."""
    by_group: dict[str, list[tuple[float, CheckCompleted]]] = {}
    for timed in facts.events:
        if isinstance(timed.event, CheckCompleted):
            place = (facts.at_s(timed.at_ns), timed.event)
            by_group.setdefault(timed.event.group, []).append(place)
    return tuple(_grid(group, by_group[group]) for group in sorted(by_group))


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


def _grid(group: str, checks: list[tuple[float, CheckCompleted]]) -> EvidenceGrid:
    ranks = sorted({rank for _, check in checks for rank in check.group_ranks})
    columns: list[EvidenceColumn] = []
    cells: list[list[str]] = [[] for _ in ranks]
    values: list[list[str | None]] = [[] for _ in ranks]
    for at_s, check in checks:
        peer_of = {rank: peer for peer, rank in enumerate(check.group_ranks)}
        for surface in check.surfaces:
            columns.append(_column(at_s, check, surface))
            for row, rank in enumerate(ranks):
                char, value = _cell_of(surface, peer_of.get(rank))
                cells[row].append(char)
                values[row].append(value)
    return EvidenceGrid(
        group=group,
        ranks=tuple(rank_name(rank) for rank in ranks),
        columns=tuple(columns),
        cells=tuple("".join(row) for row in cells),
        values=tuple(tuple(row) for row in values),
        checks=tuple(_check_row(at_s, check) for at_s, check in checks),
    )


def _cell_of(surface: SurfaceEvidence, peer: int | None) -> tuple[str, str | None]:
    if peer is None or peer >= len(surface.values):
        return NOT_COMPARED, None
    value = surface.values[peer]
    bit = surface.bitmap[peer : peer + 1] or "?"
    return cell(bit, surface.status, is_present=value is not None), value


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
    )


def _check_row(at_s: float, check: CheckCompleted) -> CheckRow:
    agreeing = sum(surface.k == surface.n for surface in check.surfaces)
    outliers = {
        check.group_ranks[peer]
        for surface in check.surfaces
        for peer, bit in enumerate(surface.bitmap)
        if bit == "1"
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
