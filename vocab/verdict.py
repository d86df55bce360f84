"""The verdict: one shape for ranks and links (DESIGN sec. 4).

Detectors make it, the store keeps it, every surface (log, page, report, JSON) prints
these very fields. It never carries ground truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What a detector can honestly say; the five never merge (DESIGN sec. 2.5)."""

    ATTRIBUTED = "attributed"
    GROUP_SCOPED = "group_scoped"
    INCONCLUSIVE = "inconclusive"
    INCOMPLETE_DATA = "incomplete_data"
    HEALTHY = "healthy"


class Scope(StrEnum):
    """What kind of thing the verdict is about."""

    RANK = "rank"
    HOST = "host"
    PROCESS_GROUP = "process_group"
    LINK = "link"
    PATH = "path"
    SWITCH = "switch"


class Kind(StrEnum):
    """The manifestation that was diagnosed."""

    SDC = "sdc"
    STRAGGLER = "straggler"
    HANG = "hang"
    CRASH = "crash"
    LINK = "link"
    NONE = "none"


class Action(StrEnum):
    """What recovery should do (SCOUT sec. 7 "Guiding recovery")."""

    CONTINUE = "continue"
    RESTART_IN_PLACE = "restart in place"
    REPLACE_HOST = "replace host"
    DIAGNOSE_FABRIC = "diagnose fabric"


class Heading(StrEnum):
    """How the blamed differs: progress (ahead, behind) or link direction (up, down)."""

    AHEAD = "ahead"
    BEHIND = "behind"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """The number that decided, with its threshold, the same on every surface."""

    name: str
    value: float | None  # None: not measured; never printed as 0
    threshold: float | None  # None: an exact comparison has none
    expression: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """`k` of `n` peers hold the majority value; `n` counts missing peers too."""

    k: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmations:
    """Distinct boundaries that agreed, and how many are needed for a verdict."""

    seen: int
    needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceBitmap:
    """C3's outlier bitmap of one compared surface, one character per peer.

    `0` agrees, `1` disagrees, `?` is missing; the order is that of the group's ranks.
    """

    surface: str
    status: str
    bitmap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """Where the evidence stands: event `seq` in the file of `source`."""

    source: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One incident, as a detector sees it.

    Names are those of `vocab.names`. `blamed` is empty unless the state is attributed.
    `incident` counts from 1 within (detector, group); a re-sighting of the same
    incident makes no new verdict. `at_ns` is the monotonic time of the decision.
    """

    verdict_id: str
    incident: int
    kind: Kind
    state: State
    scope: Scope
    reason_code: str
    reason: str
    action: Action
    group: str
    group_ranks: tuple[int, ...] = ()
    blamed: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()  # nobody is blamed: it is one of these
    victims: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    heading: Heading | None = None
    statistic: Statistic | None = None
    votes: Votes | None = None
    confirmations: Confirmations | None = None
    step: int | None = None
    surface: str | None = None
    layer: str | None = None
    phase: str | None = None
    stall_s: float | None = None
    replay_mode: str | None = None
    replay_shape: tuple[int, ...] | None = None
    bitmaps: tuple[SurfaceBitmap, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    supersedes: str | None = None
    needed: str | None = None  # what would be needed to name somebody
    at_ns: int = field(default=0)

    def __post_init__(self) -> None:
        if (self.state is State.ATTRIBUTED) != bool(self.blamed):
            raise ValueError(
                f"verdict {self.verdict_id}: state {self.state} with blamed "
                f"{self.blamed}; exactly the attributed verdicts name somebody"
            )
