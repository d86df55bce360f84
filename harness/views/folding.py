"""Which part of a grid is shown, and how many ranks share a row. Pure.

Called by `evidence` and `timing`. A group of up to 64 ranks has a row for each; a
larger one is folded into bands, so that 16,384 ranks are a picture and not a list.

    Zoom(ranks, checks, per_row)  --rows-->  Row(name, first peer, last peer)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from vocab.names import host_name, rank_name

T = TypeVar("T")

MAX_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Zoom:
    """What of the grids is wanted; the default is everything, folded where it must."""

    ranks: tuple[int, int] | None = None  # first and last rank; None: all
    checks: tuple[int, int] | None = None  # first and last check; None: all
    per_host: int | None = None  # a row is a host of so many ranks; None: no hosts

    def has_check(self, check: int) -> bool:
        """Whether a check is wanted."""
        return self.checks is None or self.checks[0] <= check <= self.checks[1]

    def has_rank(self, rank: int) -> bool:
        """Whether a rank is wanted."""
        return self.ranks is None or self.ranks[0] <= rank <= self.ranks[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: the ranks that share it, in order."""

    name: str
    ranks: tuple[int, ...]

    @property
    def is_single(self) -> bool:
        """Whether it is one rank's own row."""
        return len(self.ranks) == 1


ALL = Zoom()


def rows(ranks: Sequence[int], zoom: Zoom = ALL) -> tuple[Row, ...]:
    """The rows of a group's ranks, which are in order."""
    wanted = [rank for rank in ranks if zoom.has_rank(rank)]
    if zoom.per_host:
        return _hosts(wanted, zoom.per_host)
    per_row = band_size(len(wanted))
    return tuple(
        _band(tuple(wanted[start : start + per_row]))
        for start in range(0, len(wanted), per_row)
    )


def band_size(num_ranks: int) -> int:
    """Ranks a row: one for up to 64 ranks, then the next power of two that fits."""
    size = 1
    while num_ranks > size * MAX_ROWS:
        size *= 2
    return size


def _band(ranks: tuple[int, ...]) -> Row:
    first = rank_name(ranks[0])
    name = first if len(ranks) == 1 else f"{first}…{ranks[-1]}"
    return Row(name=name, ranks=ranks)


def _hosts(ranks: Sequence[int], per_host: int) -> tuple[Row, ...]:
    by_host: dict[int, list[int]] = {}
    for rank in ranks:
        by_host.setdefault(rank // per_host, []).append(rank)
    hosts = sorted(by_host)
    per_row = band_size(len(hosts))
    found = []
    for start in range(0, len(hosts), per_row):
        shown = hosts[start : start + per_row]
        first = host_name(shown[0])
        name = first if len(shown) == 1 else f"{first}…{shown[-1]}"
        found.append(Row(name=name, ranks=tuple(r for h in shown for r in by_host[h])))
    return tuple(found)


class PeersOfRows:
    """For each row the peers of a check that stand in it, worked out once a group."""

    def __init__(self, shown: Sequence[Row]) -> None:
        self._rows = shown
        self._known: dict[tuple[int, ...], list[Sequence[int]]] = {}

    def of(self, group_ranks: tuple[int, ...]) -> list[Sequence[int]]:
        """Peers by row, in order; an empty row was not compared."""
        if group_ranks not in self._known:
            peer_of = {rank: peer for peer, rank in enumerate(group_ranks)}
            self._known[group_ranks] = [
                _compact([peer_of[rank] for rank in row.ranks if rank in peer_of])
                for row in self._rows
            ]
        return self._known[group_ranks]


def _compact(peers: list[int]) -> Sequence[int]:
    """A range where they are consecutive: strings and tuples are then just cut."""
    if peers and peers == list(range(peers[0], peers[0] + len(peers))):
        return range(peers[0], peers[0] + len(peers))
    return peers


def text_of(text: str, peers: Sequence[int]) -> str:
    """The characters of `text` at the peers; a missing one is left out."""
    if isinstance(peers, range):
        return text[peers.start : peers.stop]
    return "".join(text[peer : peer + 1] for peer in peers)


def values_of(values: Sequence[T], peers: Sequence[int]) -> Sequence[T]:
    """The values at the peers."""
    if isinstance(peers, range):
        return values[peers.start : peers.stop]
    return [values[peer] for peer in peers if peer < len(values)]
