"""One run as a person reads it: facts in, `RunView` out. Pure.

Called by the run page, its JSON twin, the report and the CLI; all of them print this
and nothing else, so they cannot disagree. Never judges: outcome and matches come from
results.json, evidence from the detectors' events.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.results import Outcome
from harness.store import RUN
from harness.views import wording
from harness.views.cards import VerdictCard, cards
from harness.views.evidence import EvidenceGrid, evidence
from harness.views.fabric import FabricView, fabric
from harness.views.liveness import Liveness, liveness
from harness.views.nobody import nobody_card
from harness.views.progress import (
    ObserverRow,
    RankProgress,
    observers,
    progress,
    sizes,
)
from harness.views.source import RunFacts
from harness.views.strip import StripItem, strip
from harness.views.tail import TailRow, tail
from harness.views.timeline import Timeline, timeline
from harness.views.timing import TimingGrid, timing
from harness.views.truth import TruthView, truth
from vocab.events import (
    DetectorDisabled,
    DetectorRestarted,
    PhaseChanged,
    Problem,
    ProgressCompared,
)

OUTCOME_WORDS = {
    Outcome.PASS: "pass: found what was expected",
    Outcome.FAIL: "fail: found something else than expected",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.NOT_INJECTED: "not injected: the fault never struck",
    Outcome.INFRASTRUCTURE: "infrastructure error",
    Outcome.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One key figure; `name` is the same in page, JSON, report and JUnit."""

    name: str
    label: str
    value: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a reader must know besides the verdict, with how to mend it."""

    component: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a run comes from and how to repeat it."""

    scenario_name: str
    title: str
    description: str
    seed: int | None
    command: str
    commit: str
    dirty: bool
    host: str
    created: str  # ISO 8601, UTC
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """Everything that any surface shows of a run."""

    run_id: str
    origin: Origin
    liveness: Liveness
    outcome: Outcome | None  # None: not judged (yet)
    outcome_text: str
    outcome_reason: str
    cards: tuple[VerdictCard, ...]  # never empty: "nobody" is a card too
    truth: TruthView
    strip: tuple[StripItem, ...]
    facts: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    evidence: tuple[EvidenceGrid, ...]
    timing: tuple[TimingGrid, ...]
    timeline: Timeline
    progress: tuple[RankProgress, ...]
    observers: tuple[ObserverRow, ...]
    num_comparisons: int  # of progress rings, after silence
    tail: tuple[TailRow, ...]
    num_events: int
    cursor: str
    kind: str  # run, or analysis of evidence that was brought along
    has_fabric: bool  # asked for by the scenario
    fabric: FabricView | None  # None: none, or it has not started
    format: int = 1


def build(facts: RunFacts) -> RunView:
    """The view of a run, from any state of its files."""
    state = liveness_of(facts)
    found = cards(facts) or (nobody_card(facts, is_final=state.is_final),)
    grids = evidence(facts)
    ranks = () if facts.is_analysis else progress(facts)
    outcome = facts.results.outcome if facts.results else None
    known = truth(facts, is_final=state.is_final)
    return RunView(
        run_id=facts.run_id,
        origin=_origin(facts),
        liveness=state,
        outcome=outcome,
        outcome_text=_outcome_text(outcome, state),
        outcome_reason=facts.results.reason if facts.results else _why_open(facts),
        cards=found,
        truth=known,
        strip=strip(known, (card.blamed for card in found if not card.is_superseded)),
        facts=_figures(facts, grids, ranks, found),
        notices=_notices(facts),
        evidence=grids,
        timing=timing(facts),
        timeline=timeline(facts),
        progress=ranks,
        observers=observers(facts, is_final=state.is_final),
        num_comparisons=sum(
            isinstance(e.event, ProgressCompared) for e in facts.events
        ),
        tail=tail(facts),
        num_events=len(facts.events),
        cursor=facts.cursor,
        kind=facts.meta.kind if facts.meta else RUN,
        has_fabric=facts.scenario is not None and facts.scenario.fabric != "none",
        fabric=fabric(facts),
    )


def liveness_of(facts: RunFacts) -> Liveness:
    """Only whether the run goes on: what its event stream needs to know."""
    phases = [e.event.phase for e in facts.events if isinstance(e.event, PhaseChanged)]
    created = facts.meta.created_wall_ns if facts.meta else facts.now_ns
    return liveness(
        phase=phases[-1] if phases else "",
        # An analysis is never judged: it is over when it ended.
        has_results=facts.results is not None
        or (facts.is_analysis and facts.ended is not None),
        has_ended=facts.ended is not None,
        is_alive=facts.is_alive,
        newest_ns=facts.events[-1].at_ns if facts.events else created,
        has_events=bool(facts.events),
        now_ns=facts.now_ns,
    )


def _outcome_text(outcome: Outcome | None, state: Liveness) -> str:
    if outcome is not None:
        return OUTCOME_WORDS[outcome]
    return "not judged" if state.is_final else "not judged yet"


def _why_open(facts: RunFacts) -> str:
    if facts.ended is not None:
        return f"{facts.ended.reason}: {facts.ended.detail}".rstrip(": ")
    return ""


def _origin(facts: RunFacts) -> Origin:
    meta, scenario = facts.meta, facts.scenario
    title = meta.title if meta else scenario.title if scenario else facts.run_id
    seed = meta.seed if meta else scenario.seed if scenario else None
    return Origin(
        scenario_name=meta.scenario_name if meta else "",
        title=title,
        description=scenario.description if scenario else "",
        seed=seed,
        command=meta.command if meta else "",
        commit=meta.commit if meta else "",
        dirty=meta.dirty if meta else False,
        host=meta.host if meta else "",
        created=wording.utc(meta.created_wall_ns if meta else facts.start_ns),
        versions=dict(meta.versions) if meta else {},
    )


def _figures(
    facts: RunFacts,
    grids: tuple[EvidenceGrid, ...],
    ranks: tuple[RankProgress, ...],
    found: tuple[VerdictCard, ...],
) -> tuple[Fact, ...]:
    num_checks = sum(len(grid.checks) for grid in grids)
    surfaces = sum(row.num_surfaces for grid in grids for row in grid.checks)
    agreeing = sum(row.num_agreeing for grid in grids for row in grid.checks)
    verdicts = sum(1 for card in found if card.verdict_id)
    slowest = min((rank.last_step or 0 for rank in ranks), default=None)
    _, num_steps = sizes(facts)
    ended = facts.ended
    wall_s = ended.wall_s if ended else None
    first_step_s = ended.first_step_s if ended else None
    latencies = [
        i.latency_s for i in (facts.results.incidents if facts.results else ())
    ]
    latency = latencies[0] if latencies else None
    steps = wording.ABSENT if slowest is None else wording.k_of_n(slowest, num_steps)
    return (
        Fact(name="num_verdicts", label="Verdicts", value=verdicts, text=str(verdicts)),
        Fact(name="latency_s", label="Injection to verdict", value=latency,
             text=wording.seconds(latency)),
        Fact(name="num_checks", label="Checks", value=num_checks,
             text=str(num_checks)),
        Fact(name="num_surfaces", label="Surfaces compared", value=surfaces,
             text=str(surfaces)),
        Fact(name="num_agreeing", label="Surfaces on which all agree", value=agreeing,
             text=wording.k_of_n(agreeing, surfaces)),
        Fact(name="steps_done", label="Steps done by every rank", value=slowest,
             text=steps),
        Fact(name="wall_s", label="Wall time", value=wall_s,
             text=wording.seconds(wall_s)),
        Fact(name="first_step_s", label="First step after", value=first_step_s,
             text=wording.seconds(first_step_s)),
    )  # fmt: skip


def _notices(facts: RunFacts) -> tuple[Notice, ...]:
    found = []
    if facts.scenario_problem:
        found.append(("scenario.yaml", facts.scenario_problem, "Restore the file."))
    if facts.meta is None:
        found.append(("meta.json", "is missing or damaged.", "See scenario.yaml."))
    for timed in facts.events:
        event = timed.event
        if isinstance(event, Problem):
            found.append((event.component, event.message, event.fix))
        elif isinstance(event, DetectorDisabled):
            where = "" if event.step is None else f" at step {event.step}"
            message = f"switched itself off{where}: {event.reason}"
            found.append((event.component, message, ""))
        elif isinstance(event, DetectorRestarted):
            where = "" if event.step is None else f" at step {event.step}"
            found.append((event.component, f"{event.reason}{where}", ""))
    for line in facts.unreadable:
        message = f"line at byte {line.offset} is unreadable: {line.error}"
        found.append((line.file, message, "The other lines are shown."))
    seen = set(found)  # results repeat some of them as plain text
    for text in facts.results.problems if facts.results else ():
        if not any(message in text for _, message, _ in seen):
            found.append(("check", text, ""))
    return tuple(Notice(component=c, message=m, fix=f) for c, m, f in found)
