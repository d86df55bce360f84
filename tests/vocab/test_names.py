"""Names are read as they are written, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocab.errors import InvalidName
from vocab.names import (
    Direction,
    Link,
    host_name,
    interface_name,
    leaf_name,
    parse_link,
    parse_node,
    parse_rank,
    rank_name,
    spine_name,
)

_NUMBERS = st.integers(0, 10**6)
_MAKERS = {"rank": rank_name, "host": host_name, "leaf": leaf_name, "spine": spine_name}


@given(kind=st.sampled_from(list(_MAKERS)), number=_NUMBERS)
def test_a_node_comes_back_as_it_was(kind: str, number: int) -> None:
    assert parse_node(_MAKERS[kind](number)) == (kind, number)


@given(
    leaf=_NUMBERS,
    spine=_NUMBERS,
    direction=st.one_of(st.none(), st.sampled_from(Direction)),
)
def test_a_link_comes_back_as_it_was(
    leaf: int, spine: int, direction: Direction | None
) -> None:
    link = Link(leaf, spine, direction)
    assert parse_link(str(link)) == link


def test_names_are_those_of_the_papers_world() -> None:
    assert str(Link(0, 3)) == "leaf0-spine3"
    assert str(Link(0, 3, Direction.UP)) == "leaf0-spine3:up"
    assert interface_name("leaf0", 3) == "leaf0-eth3"
    assert parse_rank("rank5") == 5


@pytest.mark.parametrize(
    "name",
    ["", "rank", "rank01", "rank-1", "rank1\n", " rank1", "Rank1", "gpu1", "rank١"],
)
def test_what_is_no_node_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidName, match="is not a node name; allowed"):
        parse_node(name)


@pytest.mark.parametrize(
    "name",
    ["spine3-leaf0", "leaf0-spine3:left", "leaf0spine3", "leaf0-spine3:", "leaf0-spine",
     "leaf00-spine3", "leaf0-spine3\n"],
)  # fmt: skip
def test_what_is_no_link_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidName, match="is not a link name; allowed"):
        parse_link(name)


def test_a_leaf_is_no_rank() -> None:
    with pytest.raises(InvalidName, match="is not a rank name"):
        parse_rank("leaf0")


@pytest.mark.parametrize("make", _MAKERS.values())
def test_a_negative_number_makes_no_name(make: object) -> None:
    with pytest.raises(InvalidName, match="is negative"):
        make(-1)  # type: ignore[operator]


def test_a_port_needs_a_node() -> None:
    with pytest.raises(InvalidName):
        interface_name("eth0", 1)
