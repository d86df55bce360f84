"""Localization: an exhaustive proof, properties, and the facts of FACTS.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spraycheck.localize import (
    Localization,
    PathEvidence,
    Sighting,
    links_needed,
    localize,
)
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


def evidence(
    path: Path, failed: bool, *times_ns: int, length_ns: int = 0
) -> PathEvidence:
    """Exact measurements that ended at these times, one by default."""
    times = times_ns or (0,)
    return PathEvidence(
        path=path,
        failed=failed,
        first_ended_ns=times[0],
        sightings=tuple(
            Sighting(
                lost_frac=float(failed), started_ns=at_ns - length_ns, ended_ns=at_ns
            )
            for at_ns in times
        ),
    )


def seen(
    pairs: Iterable[tuple[int, int]], spines: int, failed: Iterable[Link]
) -> Localization:
    bad = set(failed)
    graph = LeafSpine(num_leaves=16, num_spines=spines)
    return localize(
        evidence(path, bool(bad & set(path.links)))
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


def test_only_a_pass_in_the_time_of_the_loss_exonerates() -> None:
    """leaf0 -> leaf1 fails at 20 and 40; the shared downlink may fail and heal."""
    bad = evidence(Path(0, 0, 1), True, 20, 40)
    for at_ns, is_settled in ((19, False), (20, True), (30, True), (41, False)):
        good = evidence(Path(2, 0, 1), False, at_ns)
        found = localize([bad, good])
        assert blamed(found) == ({Link(0, 0, UP)} if is_settled else set()), at_ns
        assert len(found.ambiguous) == (not is_settled)


def test_one_failure_between_two_passes_shifts_no_blame() -> None:
    """The downlink may have lost packets at 20 alone."""
    bad = evidence(Path(0, 0, 1), True, 20)
    assert not localize([bad, evidence(Path(2, 0, 1), False, 19, 21)]).links


def test_a_pass_that_met_a_part_of_the_loss_counts_as_that_part() -> None:
    def found(loss: float, started_ns: int) -> set[Link]:
        bad = (
            sighting(loss, 100, 110, 20_000),
            sighting(loss, 200, 210, 20_000),
        )
        return blamed(
            localize(
                [
                    PathEvidence(path=Path(0, 0, 1), failed=True, sightings=bad,
                                 first_ended_ns=110),
                    PathEvidence(path=Path(2, 0, 1), failed=False,
                                 sightings=(sighting(0.0, started_ns, 190, 20_000),)),
                ]
            )
        )  # fmt: skip

    assert found(0.02, 110) == {Link(0, 0, UP)}  # met all of it
    assert found(0.02, 0) == set()  # less than half
    assert found(0.06, 0) == {Link(0, 0, UP)}


def sighting(
    lost_frac: float, started_ns: int = 0, ended_ns: int = 0, pkts: float = 5_000
) -> Sighting:
    return Sighting(
        lost_frac=lost_frac, started_ns=started_ns, ended_ns=ended_ns,
        healthy_pkts=pkts, sensitivity=0.5,
    )  # fmt: skip


def test_a_pass_that_could_hide_the_loss_exonerates_nobody() -> None:
    """60 of 3,000 packets lost, beside 6 of 300: by chance they are 3."""

    def found(loss: float, pkts: float, passing_loss: float) -> set[Link]:
        bad, good = sighting(loss, pkts=3_000), sighting(passing_loss, pkts=pkts)
        return blamed(
            localize(
                [
                    PathEvidence(path=Path(0, 0, 1), failed=True, sightings=(bad,)),
                    PathEvidence(path=Path(2, 0, 1), failed=False, sightings=(good,)),
                ]
            )
        )

    assert found(0.02, 300, 0.01) == set()
    assert found(0.10, 3_000, 0.01) == {Link(0, 0, UP)}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.002, 0.3),
    st.sampled_from([300, 3_000, 30_000]),
    st.sampled_from([300, 3_000, 30_000]),
)
def test_two_paths_over_one_lossy_link_never_accuse_the_healthy_ones(
    seed: int, loss: float, first_pkts: int, second_pkts: int
) -> None:
    """Each of 25 x 400 pairs has a chance of one in 3.5 million, were it normal."""
    draws = np.random.default_rng(seed)
    for _ in range(400):
        items = []
        for path, pkts in ((Path(0, 0, 1), first_pkts), (Path(2, 0, 1), second_pkts)):
            lost = draws.binomial(pkts, loss) + draws.normal(0, 0.1 * pkts**0.5)
            frac = lost / pkts
            items.append(
                PathEvidence(path=path, failed=lost > 0.5 * pkts**0.5,
                             sightings=(sighting(frac, pkts=pkts),))
            )  # fmt: skip
        assert blamed(localize(items)) <= {Link(1, 0, DOWN)}


def test_two_pairs_of_measurements_confirm_and_one_leaves_it_open() -> None:
    """Each pair has packets of its own; two failing paths confirm each other."""
    once = [evidence(Path(0, 0, 1), True, 20), evidence(Path(2, 0, 1), False, 20)]
    assert blamed(localize(once)) == {Link(0, 0, UP)}
    (question,) = localize(once, confirmations=2).ambiguous
    assert set(question.suspects) == {Link(0, 0, UP), Link(1, 0, DOWN)}
    again = [
        evidence(Path(0, 0, 1), True, 20, 40), evidence(Path(2, 0, 1), False, 20, 40)
    ]  # fmt: skip
    other = [evidence(Path(0, 0, 3), True, 20), evidence(Path(2, 0, 3), False, 20)]
    for more in (again, [*once, *other]):
        assert blamed(localize(more, confirmations=2)) == {Link(0, 0, UP)}


def test_a_path_whose_links_both_carry_others_is_contradicted() -> None:
    found = localize(
        [
            evidence(Path(0, 0, 1), True),
            evidence(Path(0, 0, 2), False),
            evidence(Path(2, 0, 1), False),
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
