"""Puts all ranks' flight-recorder dumps through the hang classifier (SCOUT sec. 7).

Called by `harness.flight_folder`. Pure: parsed dumps in, one finding per process group
out. The classifier is the observers' own; a finding that rests on what a dump cannot
show is held back, and says what is needed instead.

What a dump cannot show stays unsaid: reduction and root of a collective, steps and
layers, whether a process lives, and on gloo point-to-point operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scout.flight_groups import Group
from scout.hang import classify
from scout.hang_finding import HangFinding, name_ranks, verb
from vocab.events import RingEntry
from vocab.verdict import Action, Kind, Scope, State, Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFinding:
    """What the classifier says of one group."""

    group: Group
    silent_s: float  # shortest silence of its members
    finding: HangFinding


def judge(
    group: Group, *, silence_s: float, all_dumps_given: bool = False
) -> GroupFinding:
    """Classify one group.

    Args:
        silence_s: how long a rank may be silent.
        all_dumps_given: every rank that wrote a dump is here, so that one without is
            silent itself; otherwise a missing file says nothing.
    """
    silent_s = min((item.age_s for item in group.snapshots), default=0.0)
    found = classify(
        group.snapshots,
        group_ranks=group.ranks,
        missing=group.missing,
        silent_s=silent_s,
        threshold_s=silence_s,
        silence_of=lambda phase: silence_s,
    )
    found = replace(found, step=None, phase=None)
    if found.state is State.ATTRIBUTED:
        found = _held_back(group, found, all_dumps_given=all_dumps_given) or found
    else:
        found = _all_done(group, found) or found
    return GroupFinding(group=group, silent_s=silent_s, finding=found)


def _own_last(group: Group) -> list[RingEntry] | None:
    """Everybody's newest entry in this very group; None: something is pending in it."""
    lasts = []
    for item in group.snapshots:
        own = [e for e in item.ring if e.group_role == group.label or e.op < 0]
        if any(entry.left_ns is None for entry in own):
            return None
        lasts.append(own[-1])
    return lasts


def _all_done(group: Group, found: HangFinding) -> HangFinding | None:
    """The healthy finding of a group whose members are done and equally far."""
    lasts = _own_last(group)
    if not lasts or group.missing or len({entry.op for entry in lasts}) > 1:
        return None
    what = f"{lasts[0].name} {lasts[0].op}" if lasts[0].op >= 0 else "nothing yet"
    return replace(
        found,
        kind=Kind.NONE,
        state=State.HEALTHY,
        scope=Scope.PROCESS_GROUP,
        reason_code="all_done",
        reason=(
            f"all {len(group.ranks)} ranks are done with {what} of group "
            f"{group.label}, and nothing of it is pending"
        ),
        action=Action.CONTINUE,
        blamed=(),
        victims=(),
        heading=None,
        k=len(group.ranks),
        stall_s=None,
        needed=None,
        statistic=Statistic(
            name="pending", value=0.0, threshold=None, expression="nothing is pending"
        ),
    )


def _held_back(
    group: Group, found: HangFinding, *, all_dumps_given: bool
) -> HangFinding | None:
    """The finding without a name where the dumps do not bear it; None: they do."""
    by_position = found.reason_code in ("rank_behind", "silent_host")
    may_be_lost = bool(group.no_data) or not all_dumps_given
    if found.reason_code == "silent_host" and may_be_lost:
        return _no_dump(group, found)
    if not group.is_certain:
        return _nameless(
            found,
            State.INCOMPLETE_DATA,
            "unknown_members",
            f"{found.reason}; but dumps of other ranks are missing, and which of them "
            f"are members of group {group.label} is not recorded",
            needed="a dump of every rank",
        )
    if by_position and group.has_unseen:
        return _nameless(
            found,
            State.INCONCLUSIVE,
            "unseen_operations",
            f"{found.reason}; but gloo records no send and receive, and this job uses "
            f"them: {name_ranks(found.blamed)} may wait in one",
            needed=f"a stack trace of {name_ranks(found.blamed)}",
        )
    return None


def _no_dump(group: Group, found: HangFinding) -> HangFinding:
    missing = group.missing
    return _nameless(
        found,
        State.INCOMPLETE_DATA,
        "no_dump",
        f"no dump tells where {name_ranks(missing)} {verb(missing, 'is', 'are')}; "
        f"{found.k} of {found.n} wait in group {group.label}",
        needed=(
            f"the {verb(missing, 'dump', 'dumps')} of {name_ranks(missing)}, or "
            "certainty that none was written"
        ),
    )


def _nameless(
    found: HangFinding, state: State, code: str, reason: str, *, needed: str
) -> HangFinding:
    return replace(
        found,
        state=state,
        scope=Scope.PROCESS_GROUP,
        reason_code=code,
        reason=reason,
        action=Action.DIAGNOSE_FABRIC,
        blamed=(),
        heading=None,
        needed=needed,
    )
