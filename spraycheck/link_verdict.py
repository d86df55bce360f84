"""Put what localization found into words: the Verdict of DESIGN sec. 4.

Pure. Called by `monitor`; decides nothing itself. Where nobody is blamed, the verdict
says between whom, and which measurement would settle it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spraycheck.localize import Localization
from spraycheck.ztest import SpineResult
from vocab.graph import Path
from vocab.names import Direction, leaf_name, spine_name
from vocab.verdict import (
    Action,
    EvidenceRef,
    Heading,
    Kind,
    Scope,
    State,
    Statistic,
    Verdict,
    Votes,
)

GROUP = "fabric"
EXPRESSION = "packets of the path < lambda - s*sqrt(lambda)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMeasure:
    """The newest count of a path beside its threshold."""

    result: SpineResult
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to tell about the fabric; `key` stays while it means the same."""

    key: tuple[str, ...]
    paths: frozenset[Path]
    state: State
    scope: Scope
    reason_code: str
    reason: str
    blamed: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    heading: Heading | None = None
    votes: Votes | None = None
    needed: str | None = None


def findings_of(found: Localization) -> tuple[Finding, ...]:
    """Everything that a localization says, the surest first."""
    return (*_links(found), *_switches(found), *_questions(found), *_riddles(found))


def to_verdict(
    finding: Finding,
    measures: Mapping[Path, PathMeasure],
    *,
    incident: int,
    revision: int,
    at_ns: int,
    step: int | None,
    evidence: tuple[EvidenceRef, ...],
    supersedes: str | None,
) -> Verdict:
    """The verdict `link-<incident>`, `.b`, `.c` ... when it supersedes another."""
    suffix = "" if revision == 0 else f".{chr(ord('a') + min(revision, 25))}"
    return Verdict(
        verdict_id=f"link-{incident}{suffix}",
        incident=incident,
        kind=Kind.LINK,
        state=finding.state,
        scope=finding.scope,
        reason_code=finding.reason_code,
        reason=finding.reason,
        action=Action.DIAGNOSE_FABRIC,
        group=GROUP,
        blamed=finding.blamed,
        suspects=finding.suspects,
        heading=finding.heading,
        statistic=_worst(finding, measures),
        votes=finding.votes,
        step=step,
        evidence=evidence,
        supersedes=supersedes,
        needed=finding.needed,
        at_ns=at_ns,
    )


def silence(leaf: int, *, incident: int, at_ns: int, silent_s: float) -> Verdict:
    """Nothing was heard from a leaf: no path to it is known to be healthy."""
    return Verdict(
        verdict_id=f"link-{incident}",
        incident=incident,
        kind=Kind.LINK,
        state=State.INCOMPLETE_DATA,
        scope=Scope.SWITCH,
        reason_code="silent_leaf",
        reason=f"{leaf_name(leaf)} reported nothing for {silent_s:.1f} s",
        action=Action.DIAGNOSE_FABRIC,
        group=GROUP,
        missing=(leaf_name(leaf),),
        needed=f"reports from {leaf_name(leaf)}",
        at_ns=at_ns,
    )


def path_name(path: Path) -> str:
    """`leaf0-spine3-leaf1`, in packet order."""
    source, target = leaf_name(path.source_leaf), leaf_name(path.target_leaf)
    return f"{source}-{spine_name(path.spine)}-{target}"


def _links(found: Localization) -> list[Finding]:
    return [
        Finding(
            key=("link", str(item.link)),
            paths=frozenset(item.failing),
            state=State.ATTRIBUTED,
            scope=Scope.LINK,
            reason_code="only_link_left",
            reason=(
                f"{len(item.failing)} of {item.num_measured} measured paths over "
                f"{item.link} lose packets; the other link of "
                f"{path_name(item.decisive[0])} carries other paths without loss"
            ),
            blamed=(str(item.link),),
            heading=Heading(str(item.link.direction)),
            votes=Votes(k=len(item.failing), n=item.num_measured),
        )
        for item in found.links
    ]


def _switches(found: Localization) -> list[Finding]:
    return [
        Finding(
            key=("switch", spine_name(item.spine)),
            paths=frozenset(item.failing),
            state=State.ATTRIBUTED,
            scope=Scope.SWITCH,
            reason_code="all_paths_of_a_spine",
            reason=(
                f"all {len(item.failing)} measured paths over "
                f"{spine_name(item.spine)} lose packets"
            ),
            blamed=(spine_name(item.spine),),
            votes=Votes(k=len(item.failing), n=len(item.failing)),
        )
        for item in found.switches
    ]


def _questions(found: Localization) -> list[Finding]:
    findings = []
    for item in found.ambiguous:
        names = tuple(str(link) for link in item.suspects)
        if item.switch_possible and len(item.failing) > 1:
            names += (spine_name(item.spine),)
        uplinks = [x for x in item.suspects if x.direction is Direction.UP]
        sources = ", ".join(leaf_name(link.leaf) for link in uplinks)
        findings.append(
            Finding(
                key=("ambiguous", *names),
                paths=frozenset(item.failing),
                state=State.GROUP_SCOPED,
                scope=Scope.PATH,
                reason_code="up_or_down",
                reason=(
                    "failing: "
                    + ", ".join(path_name(path) for path in item.failing)
                    + "; no passing path exonerates either end"
                ),
                suspects=names,
                needed=(
                    f"a measured flow over {spine_name(item.spine)} from {sources} to "
                    "another leaf, or from another leaf to the same target"
                ),
            )
        )
    return findings


def _riddles(found: Localization) -> list[Finding]:
    return [
        Finding(
            key=("contradicted", path_name(path)),
            paths=frozenset({path}),
            state=State.INCONCLUSIVE,
            scope=Scope.PATH,
            reason_code="contradicted",
            reason=(
                f"{path_name(path)} loses packets, but both its links carry other "
                "paths without loss"
            ),
            needed="more packets on the paths over both links",
        )
        for path in found.contradicted
    ]


def _worst(finding: Finding, measures: Mapping[Path, PathMeasure]) -> Statistic | None:
    known = [(measures[p].result.z, p) for p in finding.paths if p in measures]
    if not known:
        return None
    _, path = min(known)
    measure = measures[path]
    return Statistic(
        name=f"packets counted on {path_name(path)}",
        value=float(measure.result.count),
        threshold=measure.threshold,
        expression=EXPRESSION,
        unit="packets",
    )
