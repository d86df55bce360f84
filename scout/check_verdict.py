"""Put a check's finding into words: the Verdict of DESIGN sec. 4.

Pure; called by `decide` only. Every sentence says who, on what, and k of N; where
nobody is blamed it says why and what would be needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from scout import group_slowdown as group_rule
from scout.config import ScoutConfig
from scout.confirm import Confirmed, expression
from vocab.events import CheckCompleted, SurfaceEvidence
from vocab.names import rank_name
from vocab.verdict import (
    Action,
    Confirmations,
    EvidenceRef,
    Kind,
    Scope,
    State,
    Statistic,
    SurfaceBitmap,
    Verdict,
    Votes,
)

# What a surface is called in a sentence, in causal order: the first that disagrees is
# the verdict's surface, the later ones follow from it.
WORDS = {
    "broadcast": "the received replay input",
    "parameters": "the parameters",
    "output": "the forward output",
    "input_grad": "the input gradients",
    "param_grad": "the parameter gradients",
    "config": "the optimizer's configuration",
    "gradient": "the effective gradient",
    "slots": "the optimizer's slots",
    "weights": "the updated weights",
    "updated": "the re-run optimizer update",
    "rerun": "the update against its own re-run",
}

# Timings that were measured at a phase's own boundaries, without any replay.
PHASE_OF = {
    "data.fetch": "data",
    "checkpoint.save": "checkpoint",
    "loop.blocked": "loop",
}
PHASE_WORDS = {
    "data": "fetching its batches",
    "checkpoint": "writing its checkpoints",
    "loop": "its own loop, where no peer makes it wait",
}


def aspect(surface: str) -> str:
    """`hidden.output[x10]` -> `output`."""
    return surface.partition(".")[2].partition("[")[0]


def in_causal_order(surfaces: Sequence[SurfaceEvidence]) -> list[SurfaceEvidence]:
    """Surfaces with the earliest cause first; ties keep their order."""
    order = list(WORDS)
    return sorted(surfaces, key=lambda s: order.index(aspect(s.surface)))


def sdc(
    check: CheckCompleted,
    surfaces: Sequence[SurfaceEvidence],
    culprits: Sequence[int],
    number: int,
    at_ns: int,
    ref: EvidenceRef | None,
) -> Verdict:
    """A numerical disagreement; `culprits` are peers, none where nobody is named."""
    first = in_causal_order(surfaces)[0]
    n = len(check.group_ranks)
    names = tuple(rank_name(check.group_ranks[peer]) for peer in culprits)
    also = [WORDS[aspect(s.surface)] for s in in_causal_order(surfaces)[1:]]
    also = [
        word for word in dict.fromkeys(also) if word != WORDS[aspect(first.surface)]
    ]
    more = f" (also in {', '.join(also)})" if also else ""
    where = f"{WORDS[aspect(first.surface)]} of {first.layer or 'the optimizer slice'}"
    if names:
        state, scope, needed = State.ATTRIBUTED, Scope.RANK, None
        reason = (
            f"{_join(names)} {_differ(names)} from the majority in {where}{more} after "
            f"step {check.step}; {first.k} of {n} peers agree."
        )
        code = "broadcast_mismatch" if aspect(first.surface) == "broadcast" else "sdc"
    else:
        state = State.GROUP_SCOPED if n == 2 else State.INCONCLUSIVE
        scope, code = Scope.PROCESS_GROUP, "no_strict_majority"
        reason = (
            f"Peers disagree in {where}{more} after step {check.step}, but only "
            f"{first.k} of {n} hold the most frequent value: nobody can be named."
        )
        needed = "a third replica" if n == 2 else f"more than {n / 2:g} agreeing peers"
    return Verdict(
        verdict_id=f"sdc-{number}",
        incident=number,
        kind=Kind.SDC,
        state=state,
        scope=scope,
        reason_code=code,
        reason=reason,
        action=Action.REPLACE_HOST,
        group=check.group,
        group_ranks=check.group_ranks,
        blamed=names,
        statistic=Statistic(
            name="most frequent value",
            value=float(first.k),
            threshold=n / 2,
            expression="c* > N/2",
            unit="peers",
        ),
        votes=Votes(k=first.k, n=n),
        confirmations=Confirmations(seen=1, needed=1),
        step=check.step,
        surface=first.surface,
        layer=first.layer,
        replay_mode=check.replay_mode,
        replay_shape=check.replay_shape,
        bitmaps=tuple(
            SurfaceBitmap(surface=s.surface, status=s.status, bitmap=s.bitmap)
            for s in check.surfaces
        ),
        evidence=() if ref is None else (ref,),
        needed=needed,
        at_ns=at_ns,
    )


def straggler(
    check: CheckCompleted,
    confirmed: Confirmed,
    layer: str | None,
    bitmap: str,
    config: ScoutConfig,
    number: int,
    at_ns: int,
    ref: EvidenceRef | None,
) -> Verdict:
    """A confirmed straggler; peer -1 where two peers differ and nobody is named."""
    slow, n = confirmed.slow, len(check.group_ranks)
    steps = " and ".join(str(step) for step in confirmed.boundaries)
    measured = f"{slow.value_s * 1e3:.1f} ms against a limit of "
    measured += f"{slow.threshold_s * 1e3:.1f} ms"
    phase = PHASE_OF.get(slow.surface)
    if phase is None:
        which = f"the {slow.surface.rpartition('.')[2]} pass of {layer}"
    else:
        which = PHASE_WORDS[phase]
    if slow.peer >= 0:
        names: tuple[str, ...] = (rank_name(check.group_ranks[slow.peer]),)
        k = bitmap.count("0")
        state, scope, code, needed = State.ATTRIBUTED, Scope.RANK, "straggler", None
        reason = (
            f"{names[0]} is slow in {which}: {measured}, at steps {steps}; "
            f"{k} of {n} peers are within the limit."
        )
    else:
        names, k = (), 1
        state, scope, code = State.GROUP_SCOPED, Scope.PROCESS_GROUP, "two_peers"
        needed = "a third replica"
        reason = (
            f"One of two peers is slow in {which}: {measured}, at steps {steps}; "
            "two peers cannot say which is the healthy one."
        )
    return Verdict(
        verdict_id=f"straggler-{number}",
        incident=number,
        kind=Kind.STRAGGLER,
        state=state,
        scope=scope,
        reason_code=code,
        reason=reason,
        action=Action.REPLACE_HOST,
        group=check.group,
        group_ranks=check.group_ranks,
        blamed=names,
        statistic=Statistic(
            name="charged time",
            value=slow.value_s,
            threshold=slow.threshold_s,
            expression=expression(config),
            unit="s",
        ),
        votes=Votes(k=k, n=n),
        confirmations=Confirmations(
            seen=len(confirmed.boundaries), needed=config.confirmations
        ),
        step=check.step,
        surface=slow.surface,
        layer=layer,
        phase=phase,
        replay_mode=check.replay_mode if phase is None else None,
        replay_shape=check.replay_shape if phase is None else None,
        bitmaps=(
            SurfaceBitmap(surface=slow.surface, status="attributed", bitmap=bitmap),
        ),
        evidence=() if ref is None else (ref,),
        needed=needed,
        at_ns=at_ns,
    )


def group_slowdown(
    check: CheckCompleted,
    found: group_rule.GroupSlow,
    config: ScoutConfig,
    number: int,
    at_ns: int,
    ref: EvidenceRef | None,
) -> Verdict:
    """All members wait longer in their collectives than before; nobody is named."""
    n = len(check.group_ranks)
    steps = " and ".join(str(step) for step in found.boundaries)
    return Verdict(
        verdict_id=f"straggler-{number}",
        incident=number,
        kind=Kind.STRAGGLER,
        state=State.GROUP_SCOPED,
        scope=Scope.PROCESS_GROUP,
        reason_code="group_slowdown",
        reason=(
            f"Collectives of the group take longer: even the peer that waits least "
            f"waits {found.least_s * 1e3:.0f} ms in {config.replay_every} steps, "
            f"against {found.median_s * 1e3:.1f} ms before and a limit of "
            f"{found.threshold_s * 1e3:.0f} ms, at steps {steps}. All {n} peers are "
            "slow alike: nobody can be named."
        ),
        action=Action.DIAGNOSE_FABRIC,
        group=check.group,
        group_ranks=check.group_ranks,
        statistic=Statistic(
            name="least wait",
            value=found.least_s,
            threshold=found.threshold_s,
            expression=group_rule.expression(config),
            unit="s",
        ),
        votes=Votes(k=n, n=n),
        confirmations=Confirmations(
            seen=len(found.boundaries), needed=config.confirmations
        ),
        step=check.step,
        surface=group_rule.SURFACE,
        phase="collective",
        evidence=() if ref is None else (ref,),
        needed="another group to compare with, or what the fabric's switches count",
        at_ns=at_ns,
    )


def incomplete(
    check: CheckCompleted, number: int, at_ns: int, ref: EvidenceRef | None
) -> Verdict:
    """A check that may not be interpreted, with who was missing and what is needed."""
    n = len(check.group_ranks)
    missing = tuple(rank_name(rank) for rank in check.missing)
    why = check.problem or f"{_join(missing)} gave no evidence"
    return Verdict(
        verdict_id=f"incomplete-{number}",
        incident=number,
        kind=Kind.NONE,
        state=State.INCOMPLETE_DATA,
        scope=Scope.PROCESS_GROUP,
        reason_code="incomplete_check",
        reason=f"The check after step {check.step} cannot be interpreted: {why}.",
        action=Action.CONTINUE,
        group=check.group,
        group_ranks=check.group_ranks,
        missing=missing,
        votes=Votes(k=n - len(missing), n=n),
        step=check.step,
        layer=check.layer,
        replay_mode=check.replay_mode,
        evidence=() if ref is None else (ref,),
        needed="a usable capture from every peer",
        at_ns=at_ns,
    )


def _join(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _differ(names: Sequence[str]) -> str:
    return "differs" if len(names) == 1 else "differ"
