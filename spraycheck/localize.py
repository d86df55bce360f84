"""From failing and passing paths to links (SprayCheck "localization"; FACTS).

Pure. A path fails when its uplink or its downlink drops packets. A link on a passing
path is exonerated. A link is blamed only if some failing path has no other link left to
suspect; a failing path with two suspects stays ambiguous; a spine all of whose measured
paths fail, where one switch explains what would take three links or more, is blamed as
a switch. Called by `monitor`, experiments and re-analysis.

    leaf0 --up--> spine1 --down--> leaf2     fails   suspects: both
    leaf3 --up--> spine1 --down--> leaf2     passes  exonerates the downlink
                                             blamed: leaf0-spine1:up

Time: a link may fail or heal between two measurements. What a passing path shows of a
failing one holds only where both were measured in the same time, or in the time in
which the loss was certainly there: after it was first seen, and before it was last
seen. Where a passing measurement lies there by a fraction f, it has met f of the loss.

Strength: a passing path exonerates only where the failing one loses significantly more
than it: then the rest is lost by the other link, whatever the shared one does. Else a
small flow that passes over a faulty link would push the blame to a healthy one.

    P fails, Q passes    f*d_P - d_Q > sqrt(f^2 var_P + var_Q)
    var = (s^2 + Z^2 (2B - 1) d) / m      spraying, and losses in runs of B packets

Losses in longer runs may deceive one such pair; the monitor wants two.

Limits: losses that come only while P is measured; flows all of whose paths lose. Where
both links of a failing path are exonerated, the path is reported as contradicted, never
blamed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vocab.graph import Path
from vocab.names import Link

MIN_SWITCH_LINKS = 3
LOSS_RUN_PKTS = 2.0  # B
_Z = 5.0  # one in 3.5 million comparisons of two equal losses
_SAME_TIME = 0.75  # share of the time of both


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One measurement of a path; times are monotonic ns.

    Without an upper limit of packets, a flow shows every loss exactly.
    """

    lost_frac: float  # d, as `shortfall` has it
    started_ns: int = 0
    ended_ns: int = 0
    healthy_pkts: float = math.inf  # m
    sensitivity: float = 0.0  # s


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEvidence:
    """The newest streak of equal outcomes of one path."""

    path: Path
    failed: bool
    sightings: tuple[Sighting, ...]  # the newest ones, in order of time; 1 or more
    first_ended_ns: int = 0  # when the streak was first seen


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


def localize(
    evidence: Iterable[PathEvidence], *, confirmations: int = 1
) -> Localization:
    """Intersect failing paths, exonerate links on passing ones.

    Args:
        evidence: one entry for each path.
        confirmations: pairs of a failing and a passing measurement, each with packets
            of its own, that must agree before a link is blamed.
    """
    by_spine: dict[int, list[PathEvidence]] = defaultdict(list)
    for item in evidence:
        by_spine[item.path.spine].append(item)
    parts = [
        _localize_spine(by_spine[spine], confirmations)
        for spine in sorted(by_spine)
        if any(item.failed for item in by_spine[spine])
    ]
    return Localization(
        links=tuple(link for part in parts for link in part.links),
        switches=tuple(switch for part in parts for switch in part.switches),
        ambiguous=tuple(item for part in parts for item in part.ambiguous),
        contradicted=tuple(path for part in parts for path in part.contradicted),
    )


def _localize_spine(
    evidence: Sequence[PathEvidence], confirmations: int
) -> Localization:
    """Spines share no link, so each is a problem of its own."""
    failing = {item.path: item for item in evidence if item.failed}
    all_fail = len(failing) == len(evidence)
    if all_fail and links_needed(failing) >= MIN_SWITCH_LINKS:
        paths = tuple(sorted(failing))
        return Localization(
            switches=(BlamedSwitch(spine=paths[0].spine, failing=paths),)
        )
    suspects = _suspects(failing.values(), evidence, confirmations)
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
    failing: Iterable[PathEvidence],
    evidence: Iterable[PathEvidence],
    confirmations: int,
) -> dict[Path, tuple[Link, ...]]:
    """The links of each failing path that no passing path exonerates."""
    passing: dict[Link, list[PathEvidence]] = defaultdict(list)
    for item in evidence:
        if not item.failed:
            for link in item.path.links:
                passing[link].append(item)
    witnesses = {
        bad.path: {link: _num_pairs(bad, passing[link]) for link in bad.path.links}
        for bad in failing
    }
    suspects: dict[Path, tuple[Link, ...]] = {}
    confirmed: dict[Link, int] = defaultdict(int)
    for path, by_link in witnesses.items():
        suspects[path] = tuple(link for link, num in by_link.items() if not num)
        if len(suspects[path]) == 1:
            confirmed[suspects[path][0]] += sum(by_link.values())
    return {
        path: path.links
        if len(links) == 1 and confirmed[links[0]] < confirmations
        else links
        for path, links in suspects.items()
    }


def _num_pairs(bad: PathEvidence, passing: Iterable[PathEvidence]) -> int:
    """How many measurements of a failing path lost more than a passing one's.

    Each passing measurement counts once.
    """
    unused = [passed for good in passing for passed in good.sightings]
    num = 0
    for seen in bad.sightings:
        for place, passed in enumerate(unused):
            if _loses_more(seen, passed, _met(passed, seen, bad)):
                del unused[place]
                num += 1
                break
    return num


def _met(passed: Sighting, seen: Sighting, bad: PathEvidence) -> float:
    """Which share of the loss `seen` a passing measurement has certainly met."""
    both_ns = min(passed.ended_ns, seen.ended_ns) - max(
        passed.started_ns, seen.started_ns
    )
    either_ns = max(passed.ended_ns, seen.ended_ns) - min(
        passed.started_ns, seen.started_ns
    )
    if both_ns >= _SAME_TIME * either_ns:
        return both_ns / either_ns if either_ns else 1.0
    last_ns = max(item.started_ns for item in bad.sightings)
    from_ns = max(passed.started_ns, bad.first_ended_ns)
    length_ns = passed.ended_ns - passed.started_ns
    certain_ns = min(passed.ended_ns, last_ns) - from_ns
    if certain_ns < 0:
        return 0.0
    return certain_ns / length_ns if length_ns else 1.0


def _loses_more(bad: Sighting, good: Sighting, met: float) -> bool:
    """Whether `bad` lost more than can be lost where `good` was, too."""
    excess = met * bad.lost_frac - good.lost_frac
    if excess <= 0:
        return False
    of_bad, of_good = 1 / bad.healthy_pkts, 1 / good.healthy_pkts
    if of_bad == of_good == 0:
        return True  # exact
    # What both would lose if they lost the same.
    common = (bad.lost_frac * of_good + max(0.0, good.lost_frac) * of_bad) / (
        of_good + met * of_bad
    )
    runs = _Z * _Z * (2 * LOSS_RUN_PKTS - 1) * min(1.0, common)
    variance = (
        met * met * (bad.sensitivity**2 + runs) * of_bad
        + (good.sensitivity**2 + runs) * of_good
    )
    return excess > math.sqrt(variance)


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
