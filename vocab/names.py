"""How ranks, hosts, switches and links are called, everywhere the same (DESIGN sec. 7).

    rank5   host0   leaf0   spine3   leaf0-spine3   leaf0-spine3:up   leaf0-eth3

The same strings stand in events, file names, pages and reports. A link always names
its leaf first; `up` is leaf -> spine, `down` is spine -> leaf.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from vocab.errors import InvalidName

_NODE = re.compile(r"^(rank|host|leaf|spine)(0|[1-9][0-9]*)\Z")
_LINK = re.compile(
    r"^leaf(0|[1-9][0-9]*)-spine(0|[1-9][0-9]*)(?::(up|down))?\Z",
)


class Direction(StrEnum):
    """Which way packets go on a leaf-spine link."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """One leaf-spine link, or one direction of it when `direction` is given."""

    leaf: int
    spine: int
    direction: Direction | None = None

    def __str__(self) -> str:
        base = f"leaf{self.leaf}-spine{self.spine}"
        return base if self.direction is None else f"{base}:{self.direction}"


def rank_name(rank: int) -> str:
    """Name of global rank `rank`, such as `rank5`."""
    return f"rank{_index('rank', rank)}"


def host_name(host: int) -> str:
    """Name of host `host`, such as `host0`."""
    return f"host{_index('host', host)}"


def leaf_name(leaf: int) -> str:
    """Name of leaf switch `leaf`, such as `leaf0`."""
    return f"leaf{_index('leaf', leaf)}"


def spine_name(spine: int) -> str:
    """Name of spine switch `spine`, such as `spine3`."""
    return f"spine{_index('spine', spine)}"


def interface_name(node: str, port: int) -> str:
    """Name of port `port` of `node`, such as `leaf0-eth3`."""
    parse_node(node)
    return f"{node}-eth{_index('port', port)}"


def parse_node(name: str) -> tuple[str, int]:
    """Split `leaf3` into `("leaf", 3)`.

    Raises:
        InvalidName: not `rank`, `host`, `leaf` or `spine` followed by a number.
    """
    match = _NODE.match(name)
    if match is None:
        raise InvalidName(
            f"{name!r} is not a node name; allowed: rank, host, leaf or spine "
            "followed by a number without leading zeros, such as 'leaf0'"
        )
    return match[1], int(match[2])


def parse_rank(name: str) -> int:
    """Global rank number of `rank5`.

    Raises:
        InvalidName: the name is not that of a rank.
    """
    kind, index = parse_node(name)
    if kind != "rank":
        raise InvalidName(f"{name!r} is not a rank name; allowed: 'rank' and a number")
    return index


def parse_link(name: str) -> Link:
    """Read `leaf0-spine3` or `leaf0-spine3:up`.

    Raises:
        InvalidName: anything else, also the reversed order `spine3-leaf0`.
    """
    match = _LINK.match(name)
    if match is None:
        raise InvalidName(
            f"{name!r} is not a link name; allowed: 'leaf<i>-spine<j>', "
            "optionally followed by ':up' or ':down'"
        )
    way = Direction(match[3]) if match[3] else None
    return Link(int(match[1]), int(match[2]), way)


def _index(what: str, value: int) -> int:
    if value < 0:
        raise InvalidName(f"{what} number {value} is negative; allowed: 0 and above")
    return value
