"""Turns a hang finding into the verdict that every surface prints. Pure.

Called by the observer that writes, and by re-analysis.
"""

from __future__ import annotations

from scout.hang_finding import HangFinding
from vocab.names import rank_name
from vocab.verdict import EvidenceRef, Verdict, Votes


def to_verdict(
    finding: HangFinding,
    *,
    incident: int,
    group: str,
    at_ns: int,
    evidence: tuple[EvidenceRef, ...] = (),
    supersedes: str | None = None,
) -> Verdict:
    """The verdict `hang-<incident>` (`.b` when it supersedes the incident's first)."""
    suffix = "" if supersedes is None else ".b"
    return Verdict(
        verdict_id=f"hang-{incident}{suffix}",
        incident=incident,
        kind=finding.kind,
        state=finding.state,
        scope=finding.scope,
        reason_code=finding.reason_code,
        reason=finding.reason,
        action=finding.action,
        group=group,
        group_ranks=finding.group_ranks,
        blamed=_names(finding.blamed),
        victims=_names(finding.victims),
        missing=_names(finding.missing),
        heading=finding.heading,
        statistic=finding.statistic,
        votes=Votes(k=finding.k, n=finding.n),
        step=finding.step,
        surface=finding.surface,
        layer=finding.layer,
        phase=finding.phase,
        stall_s=finding.stall_s,
        evidence=evidence,
        supersedes=supersedes,
        needed=finding.needed,
        at_ns=at_ns,
    )


def _names(ranks: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(rank_name(rank) for rank in ranks)
