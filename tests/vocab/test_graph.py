"""The leaf-spine graph: one path a spine, and none over what is down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocab.graph import LeafSpine, Path
from vocab.names import Direction, Link

_SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5))


@st.composite
def graphs(draw: st.DrawFn) -> LeafSpine:
    leaves, spines = draw(_SIZES)
    every = [Link(leaf, spine) for leaf in range(leaves) for spine in range(spines)]
    disabled = draw(st.sets(st.sampled_from(every)))
    return LeafSpine(num_leaves=leaves, num_spines=spines, disabled=frozenset(disabled))


@given(graph=graphs())
def test_links_are_all_but_the_disabled_ones(graph: LeafSpine) -> None:
    links = list(graph.links())
    assert len(links) == graph.num_leaves * graph.num_spines - len(graph.disabled)
    assert not set(links) & graph.disabled
    assert links == sorted(links)


@given(graph=graphs(), data=st.data())
def test_a_path_uses_only_links_that_are_there(
    graph: LeafSpine, data: st.DataObject
) -> None:
    leaves = st.integers(0, graph.num_leaves - 1)
    source, target = data.draw(leaves), data.draw(leaves)
    paths = graph.paths(source, target)
    usable = set(graph.links())
    for path in paths:
        assert (path.source_leaf, path.target_leaf) == (source, target)
        assert Link(source, path.spine) in usable
        assert Link(target, path.spine) in usable
    wanted = 0 if source == target else sum(
        Link(source, spine) in usable and Link(target, spine) in usable
        for spine in range(graph.num_spines)
    )  # fmt: skip
    assert len(paths) == wanted


def test_a_path_goes_up_and_then_down() -> None:
    path = Path(0, 3, 1)
    assert path.links == (Link(0, 3, Direction.UP), Link(1, 3, Direction.DOWN))


def test_hosts_hang_on_leaves_in_order() -> None:
    graph = LeafSpine(num_leaves=3, num_spines=1, hosts_per_leaf=2)
    assert [graph.leaf_of_host(host) for host in range(6)] == [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match=r"host6 unknown; allowed: 0\.\.5"):
        graph.leaf_of_host(6)


@pytest.mark.parametrize("field", ["num_leaves", "num_spines", "hosts_per_leaf"])
def test_a_graph_has_at_least_one_of_each(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0; allowed: 1 or more"):
        LeafSpine(**{"num_leaves": 1, "num_spines": 1, field: 0})


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link(0, 0, Direction.UP), "has a direction"),
        (Link(2, 0), "leaf2 unknown"),
        (Link(0, 2), "spine2 unknown"),
    ],
)
def test_only_whole_links_of_the_graph_are_disabled(link: Link, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LeafSpine(num_leaves=2, num_spines=2, disabled=frozenset({link}))


def test_a_path_between_unknown_leaves_is_refused() -> None:
    graph = LeafSpine(num_leaves=2, num_spines=1)
    for leaves in ((0, 2), (-1, 0)):
        with pytest.raises(ValueError, match="unknown"):
            graph.paths(*leaves)
