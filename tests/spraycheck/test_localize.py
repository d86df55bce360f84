"""Localization: an exhaustive proof, properties, and the facts of FACTS.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spraycheck.localize import Localization, PathEvidence, links_needed, localize
from vocab.graph import LeafSpine, Path
from vocab.names import Direction, Link

UP, DOWN = Direction.UP, Direction.DOWN


def all_pairs(leaves: int) -> list[tuple[int, int]]:
    return list(itertools.permutations(range(leaves), 2))


def ring(leaves: int) -> list[tuple[int, int]]:
    return [(leaf, (leaf + 1) % leaves) for leaf in range(leaves)]


def halving_doubling(leaves: int) -> list[tuple[int, int]]:
    return [
        (leaf, leaf ^ (1 << bit))
        for leaf in range(leaves)
        for bit in range(leaves.bit_length() - 1)
    ]


def directed_links(leaves: int, spines: int) -> list[Link]:
    return [
        Link(leaf, spine, way)
        for leaf in range(leaves)
        for spine in range(spines)
        for way in (UP, DOWN)
    ]


def seen(
    pairs: Iterable[tuple[int, int]], spines: int, failed: Iterable[Link]
) -> Localization:
    bad = set(failed)
    graph = LeafSpine(num_leaves=16, num_spines=spines)
    return localize(
        PathEvidence(path=path, failed=bool(bad & set(path.links)))
        for source, target in pairs
        for path in graph.paths(source, target)
    )


def blamed(found: Localization) -> set[Link]:
    return {item.link for item in found.links}


@pytest.mark.parametrize("num_failed", [0, 1, 2, 3])
def test_up_to_three_failed_links_of_4x4_are_named_exactly(num_failed: int) -> None:
    """All 5,489 cases, all pairs measured: nobody else, nobody missed."""
    pairs = all_pairs(4)
    for failed in itertools.combinations(directed_links(4, 4), num_failed):
        found = seen(pairs, 4, failed)
        assert blamed(found) == set(failed)
        assert not found.switches
        assert not found.ambiguous
        assert not found.contradicted


@given(
    st.sets(st.sampled_from(directed_links(6, 3)), max_size=30),
    st.sets(st.sampled_from(all_pairs(6)), min_size=1),
)
def test_no_healthy_link_is_ever_blamed(
    failed: set[Link], pairs: set[tuple[int, int]]
) -> None:
    found = seen(pairs, 3, failed)
    assert blamed(found) <= failed
    assert not found.contradicted
    for item in found.switches:
        measured = {Path(s, item.spine, t) for s, t in pairs}
        assert set(item.failing) == measured
        assert all(set(path.links) & failed for path in measured)
    for question in found.ambiguous:
        assert set(question.suspects) & failed
    explained = {path for item in found.links for path in item.failing}
    explained |= {path for item in found.switches for path in item.failing}
    explained |= {path for item in found.ambiguous for path in item.failing}
    assert explained == {
        Path(s, spine, t)
        for s, t in pairs
        for spine in range(3)
        if {Link(s, spine, UP), Link(t, spine, DOWN)} & failed
    }


@pytest.mark.parametrize("link", directed_links(8, 8), ids=str)
def test_a_ring_cannot_tell_uplink_from_downlink_and_others_can(link: Link) -> None:
    (question,) = seen(ring(8), 8, [link]).ambiguous
    assert link in question.suspects
    assert len(question.suspects) == 2
    assert blamed(seen(ring(8), 8, [link])) == set()
    assert blamed(seen(halving_doubling(8), 8, [link])) == {link}
    assert blamed(seen(all_pairs(8), 8, [link])) == {link}


def test_two_failed_downlinks_of_a_spine_accuse_no_uplink() -> None:
    """Two other leaves report leaf0's paths over spine1; its uplink is healthy."""
    failed = {Link(1, 1, DOWN), Link(2, 1, DOWN)}
    assert blamed(seen(all_pairs(4), 4, failed)) == failed


def test_a_spine_all_of_whose_paths_fail_is_blamed_as_a_switch() -> None:
    failed = [Link(leaf, 2, way) for leaf in range(4) for way in (UP, DOWN)]
    found = seen(all_pairs(4), 4, failed)
    assert [item.spine for item in found.switches] == [2]
    assert not found.links
    assert not found.ambiguous


def test_two_leaves_are_too_few_to_blame_a_switch() -> None:
    failed = [Link(leaf, 0, way) for leaf in range(2) for way in (UP, DOWN)]
    found = seen(all_pairs(2), 2, failed)
    assert not found.switches
    assert [len(item.suspects) for item in found.ambiguous] == [2, 2]
    assert all(item.switch_possible for item in found.ambiguous)


def test_an_older_pass_exonerates_nobody() -> None:
    """leaf2 -> leaf1 passed before the fault: the downlink may have failed since."""
    bad = PathEvidence(path=Path(0, 0, 1), failed=True, since_ns=20, until_ns=20)
    old = PathEvidence(path=Path(2, 0, 1), failed=False, since_ns=0, until_ns=19)
    found = localize([bad, old])
    assert not found.links
    assert len(found.ambiguous) == 1
    late = PathEvidence(path=Path(2, 0, 1), failed=False, since_ns=0, until_ns=20)
    assert blamed(localize([bad, late])) == {Link(0, 0, UP)}


def test_a_pass_after_the_link_healed_shifts_no_blame() -> None:
    """The downlink failed at 20 and healed; leaf0 -> leaf1 was not measured since."""
    bad = PathEvidence(path=Path(0, 0, 1), failed=True, since_ns=20, until_ns=20)
    healed = PathEvidence(path=Path(2, 0, 1), failed=False, since_ns=30, until_ns=30)
    assert not localize([bad, healed]).links


def test_a_path_whose_links_both_carry_others_is_contradicted() -> None:
    found = localize(
        [
            PathEvidence(path=Path(0, 0, 1), failed=True),
            PathEvidence(path=Path(0, 0, 2), failed=False),
            PathEvidence(path=Path(2, 0, 1), failed=False),
        ]
    )
    assert found == Localization(contradicted=(Path(0, 0, 1),))


@given(st.sets(st.sampled_from(all_pairs(4)), max_size=8))
def test_the_fewest_links_are_those_of_trying_all(pairs: set[tuple[int, int]]) -> None:
    paths = [Path(s, 0, t) for s, t in pairs]
    links = directed_links(4, 1)
    fewest = next(
        size
        for size in range(len(links))
        if any(
            all(set(path.links) & set(chosen) for path in paths)
            for chosen in itertools.combinations(links, size)
        )
    )
    assert links_needed(paths) == fewest
