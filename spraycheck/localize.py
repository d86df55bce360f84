"""From failing and passing paths to links (SprayCheck "localization"; FACTS).

Pure. A path fails when its uplink or its downlink drops packets. A link on a passing
path is exonerated. A link is blamed only if some failing path has no other link left to
suspect; a failing path with two suspects stays ambiguous; a spine all of whose measured
paths fail, where one switch explains what would take three links or more, is blamed as
a switch. Called by `monitor`, experiments and re-analysis.

    leaf0 --up--> spine1 --down--> leaf2     fails   suspects: both
    leaf3 --up--> spine1 --down--> leaf2     passes  exonerates the downlink
                                             blamed: leaf0-spine1:up

Time: evidence of different moments says nothing together, because a link may fail or
heal in between. A passing path counts for a failing one only where their streaks (equal
outcomes in a row, from the first to the last measurement) overlap.

Strength: a passing path exonerates only where its flow would have shown a loss as large
as the failing path's (`shortfall`). Otherwise a small flow that passes over a faulty
link would push the blame to the healthy one behind it.

Limit: where both links of a failing path carry others that would have shown its loss,
the path is reported as contradicted, never blamed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vocab.graph import Path
from vocab.names import Link

MIN_SWITCH_LINKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEvidence:
    """The newest streak of equal outcomes of one path; times are monotonic ns."""

    path: Path
    failed: bool
    since_ns: int = 0
    until_ns: int = 0
    # As `shortfall` has them; the defaults say that every flow shows every loss.
    loss_frac: float = math.inf  # of a failing path: its estimate
    unseen_frac: float = 0.0  # of a passing path: the most that it may lose


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedLink:
    """A directed link, with the failing paths over it that nothing else explains."""

    link: Link
    decisive: tuple[Path, ...]
    failing: tuple[Path, ...]  # every failing path over it
    num_measured: int  # paths over it, failing or not


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedSwitch:
    """A spine all of whose measured paths fail."""

    spine: int
    failing: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity:
    """Failing paths of one spine, and the links between which nothing chooses yet.

    `switch_possible`: every measured path of the spine fails, so it may be the switch.
    """

    spine: int
    suspects: tuple[Link, ...]
    failing: tuple[Path, ...]
    switch_possible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Localization:
    """What the evidence says; all empty: every measured path passes."""

    links: tuple[BlamedLink, ...] = ()
    switches: tuple[BlamedSwitch, ...] = ()
    ambiguous: tuple[Ambiguity, ...] = ()
    contradicted: tuple[Path, ...] = ()  # fail although both their links carry others


def localize(evidence: Iterable[PathEvidence]) -> Localization:
    """Intersect failing paths, exonerate links on passing ones. One entry per path."""
    by_spine: dict[int, list[PathEvidence]] = defaultdict(list)
    for item in evidence:
        by_spine[item.path.spine].append(item)
    parts = [
        _localize_spine(by_spine[spine])
        for spine in sorted(by_spine)
        if any(item.failed for item in by_spine[spine])
    ]
    return Localization(
        links=tuple(link for part in parts for link in part.links),
        switches=tuple(switch for part in parts for switch in part.switches),
        ambiguous=tuple(item for part in parts for item in part.ambiguous),
        contradicted=tuple(path for part in parts for path in part.contradicted),
    )


def _localize_spine(evidence: Sequence[PathEvidence]) -> Localization:
    """Spines share no link, so each is a problem of its own."""
    failing = {item.path: item for item in evidence if item.failed}
    all_fail = len(failing) == len(evidence)
    if all_fail and links_needed(failing) >= MIN_SWITCH_LINKS:
        paths = tuple(sorted(failing))
        return Localization(
            switches=(BlamedSwitch(spine=paths[0].spine, failing=paths),)
        )
    suspects = _suspects(failing.values(), evidence)
    decisive: dict[Link, list[Path]] = defaultdict(list)
    for path, links in sorted(suspects.items()):
        if len(links) == 1:
            decisive[links[0]].append(path)
    open_paths = {
        path: links
        for path, links in suspects.items()
        if len(links) == 2 and not decisive.keys() & set(links)
    }
    return Localization(
        links=tuple(
            _blame(link, decisive[link], evidence) for link in sorted(decisive, key=str)
        ),
        ambiguous=tuple(
            Ambiguity(
                spine=paths[0].spine,
                suspects=tuple(sorted({x for p in paths for x in p.links}, key=str)),
                failing=paths,
                switch_possible=all_fail,
            )
            for paths in _connected(open_paths)
        ),
        contradicted=tuple(sorted(p for p, links in suspects.items() if not links)),
    )


def links_needed(failing: Iterable[Path]) -> int:
    """The fewest links of one spine that explain all these failing paths.

    A smallest vertex cover of a bipartite graph (uplinks, downlinks) is as large as its
    largest matching (König 1931), found by augmenting paths.
    """
    targets: dict[int, list[int]] = defaultdict(list)
    for path in failing:
        targets[path.source_leaf].append(path.target_leaf)
    source_of: dict[int, int] = {}

    def augment(source: int, tried: set[int]) -> bool:
        for target in targets[source]:
            if target not in tried:
                tried.add(target)
                if target not in source_of or augment(source_of[target], tried):
                    source_of[target] = source
                    return True
        return False

    return sum(augment(source, set()) for source in list(targets))


def _suspects(
    failing: Iterable[PathEvidence], evidence: Iterable[PathEvidence]
) -> dict[Path, tuple[Link, ...]]:
    passing: dict[Link, list[PathEvidence]] = defaultdict(list)
    for item in evidence:
        if not item.failed:
            for link in item.path.links:
                passing[link].append(item)
    return {
        bad.path: tuple(
            link
            for link in bad.path.links
            if not any(_exonerates(good, bad) for good in passing.get(link, ()))
        )
        for bad in failing
    }


def _exonerates(good: PathEvidence, bad: PathEvidence) -> bool:
    return _overlap(good, bad) and good.unseen_frac <= bad.loss_frac


def _overlap(one: PathEvidence, other: PathEvidence) -> bool:
    return one.since_ns <= other.until_ns and other.since_ns <= one.until_ns


def _blame(
    link: Link, decisive: Sequence[Path], evidence: Iterable[PathEvidence]
) -> BlamedLink:
    over = [item for item in evidence if link in item.path.links]
    return BlamedLink(
        link=link,
        decisive=tuple(decisive),
        failing=tuple(sorted(item.path for item in over if item.failed)),
        num_measured=len(over),
    )


def _connected(paths: Mapping[Path, Sequence[Link]]) -> list[tuple[Path, ...]]:
    """Group paths that share a link: one open question each."""
    groups: list[tuple[set[Link], list[Path]]] = []
    for path in sorted(paths):
        links, members = set(path.links), [path]
        apart = []
        for group in groups:
            if group[0] & links:
                links |= group[0]
                members = group[1] + members
            else:
                apart.append(group)
        groups = [*apart, (links, members)]
    return sorted(tuple(sorted(members)) for _, members in groups)
