"""From a check's evidence to verdicts: consensus, floors, confirmation, incidents.

    CheckCompleted ─► exact(values)  ─► who disagrees where ─► Ledger ─► Verdict(sdc)
                  ├─► judge(timings) ─► Confirmer           ─► Ledger ─► Verdict(slow)
                  ├─► waits in collectives ─► GroupSlowdown ─► Ledger ─► Verdict(group)
                  └─► problem, missing                      ─► Ledger ─► incomplete_data

Pure. Every peer runs the same decider on the same evidence; re-analysis runs it again
from the stored events, possibly with another config. Only values count: the statuses
that the event carries are recomputed, and ground truth is never seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scout import check_verdict, group_slowdown
from scout.clock import charged
from scout.config import ScoutConfig
from scout.confirm import Confirmer, Slow, expression, judge
from scout.consensus import Status, exact
from scout.group_slowdown import GroupSlowdown
from scout.incident import Ledger
from vocab.events import (
    CheckCompleted,
    IncidentClosed,
    SurfaceEvidence,
    TimingEvidence,
)
from vocab.verdict import EvidenceRef, Statistic, Verdict

Decision = Verdict | IncidentClosed


@dataclass(slots=True)
class CheckDecider:
    """The decider of one peer group; feed it every check in order."""

    config: ScoutConfig
    holds_layer: bool = False  # the last check saw a raw outlier: look there again
    _confirmer: Confirmer = field(init=False)
    _group: GroupSlowdown = field(init=False)
    _sdc: Ledger = field(init=False)
    _straggler: Ledger = field(init=False)
    _incomplete: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self._confirmer = Confirmer(config=self.config)
        self._group = GroupSlowdown(config=self.config)
        self._sdc = Ledger(close_after=self.config.close_after)
        self._straggler = Ledger(close_after=self.config.close_after)

    def on_check(
        self, check: CheckCompleted, *, at_ns: int, ref: EvidenceRef | None = None
    ) -> list[Decision]:
        """Take one check's evidence; give new verdicts and closed incidents."""
        check = evaluated(check, self.config)
        self.holds_layer = False
        if check.problem is not None or check.missing:
            return self._on_incomplete(check, at_ns, ref)
        decisions: list[Decision] = [
            IncidentClosed(verdict_id=over.verdict_id, step=check.step,
                           why="a check is complete again")
            for over in self._incomplete.on_clean(frozenset(), {"check"})
        ]  # fmt: skip
        decisions += self._on_values(check, at_ns, ref)
        decisions += self._on_timings(check, at_ns, ref)
        return decisions

    def _on_incomplete(
        self, check: CheckCompleted, at_ns: int, ref: EvidenceRef | None
    ) -> list[Decision]:
        fresh = self._incomplete.on_found(frozenset(), {"check"})
        if fresh is None:
            return []
        verdict = check_verdict.incomplete(check, fresh.number, at_ns, ref)
        fresh.verdict_id = verdict.verdict_id
        return [verdict]

    def _on_values(
        self, check: CheckCompleted, at_ns: int, ref: EvidenceRef | None
    ) -> list[Decision]:
        dirty: dict[int, list[SurfaceEvidence]] = {}  # peer -> disagreeing surfaces
        unnamed: list[SurfaceEvidence] = []
        for surface in check.surfaces:
            if surface.status == Status.INCONCLUSIVE:
                unnamed.append(surface)
            for peer in _marked(surface.bitmap):
                dirty.setdefault(peer, []).append(surface)
        decisions: list[Decision] = list(self._closed_by(check, dirty, unnamed))
        if dirty:
            decisions += self._sdc_found(check, dirty, at_ns, ref)
        if unnamed and not dirty:
            places = {_place(surface) for surface in unnamed}
            fresh = self._sdc.on_found(frozenset(), places, _held(check, unnamed))
            if fresh is not None:
                verdict = check_verdict.sdc(
                    check, unnamed, (), fresh.number, at_ns, ref
                )
                fresh.verdict_id = verdict.verdict_id
                decisions.append(verdict)
        return decisions

    def _sdc_found(
        self,
        check: CheckCompleted,
        dirty: dict[int, list[SurfaceEvidence]],
        at_ns: int,
        ref: EvidenceRef | None,
    ) -> list[Decision]:
        found = [surface for surfaces in dirty.values() for surface in surfaces]
        places = {_place(surface) for surface in found}
        fresh = self._sdc.on_found(frozenset(dirty), places, _held(check, found))
        if fresh is None:
            return []
        culprits = sorted(fresh.culprits)
        surfaces = [s for peer in culprits for s in dirty[peer]]
        verdict = check_verdict.sdc(check, surfaces, culprits, fresh.number, at_ns, ref)
        fresh.verdict_id = verdict.verdict_id
        return [verdict]

    def _closed_by(
        self,
        check: CheckCompleted,
        dirty: dict[int, list[SurfaceEvidence]],
        unnamed: list[SurfaceEvidence],
    ) -> list[IncidentClosed]:
        closed = []
        everyone = frozenset(range(len(check.group_ranks)))
        for place in {_place(surface) for surface in check.surfaces}:
            if any(_place(surface) == place for surface in unnamed):
                continue
            bad = {
                peer
                for peer, surfaces in dirty.items()
                if any(_place(surface) == place for surface in surfaces)
            }
            closed += self._sdc.on_clean(everyone - bad, {place})
        return [
            IncidentClosed(verdict_id=over.verdict_id, step=check.step,
                           why="its places were measured clean again")
            for over in closed
        ]  # fmt: skip

    def _on_timings(
        self, check: CheckCompleted, at_ns: int, ref: EvidenceRef | None
    ) -> list[Decision]:
        timings = {_timed_place(timing): timing for timing in check.timings}
        waits = timings.pop(group_slowdown.SURFACE, None)
        slow: list[Slow] = []
        for place, timing in timings.items():
            slow += _slow_in(place, timing, self.config)
        # Looking at the same layer again confirms only what a layer was slow in.
        self.holds_layer = any(timings[i.surface].layer is not None for i in slow)
        decisions: list[Decision] = []
        everyone = frozenset(range(len(check.group_ranks)))
        for place in timings:
            lagging = {item.peer for item in slow if item.surface == place}
            if -1 not in lagging:
                decisions += [
                    IncidentClosed(verdict_id=over.verdict_id, step=check.step,
                                   why="measured within the limit again")
                    for over in self._straggler.on_clean(everyone - lagging, {place})
                ]  # fmt: skip
        for confirmed in self._confirmer.on_check(check.step, timings, slow):
            item = confirmed.slow
            culprits = frozenset({item.peer} - {-1})
            fresh = self._straggler.on_found(culprits, {item.surface})
            if fresh is None:
                continue
            timing = timings[item.surface]
            verdict = check_verdict.straggler(
                check, confirmed, timing.layer, timing.bitmap, self.config,
                fresh.number, at_ns, ref,
            )  # fmt: skip
            fresh.verdict_id = verdict.verdict_id
            decisions.append(verdict)
        if waits is not None:
            decisions += self._on_waits(check, waits, bool(slow), at_ns, ref)
        return decisions

    def _on_waits(
        self,
        check: CheckCompleted,
        waits: TimingEvidence,
        is_explained: bool,
        at_ns: int,
        ref: EvidenceRef | None,
    ) -> list[Decision]:
        found = self._group.on_check(
            check.step, charged_s(waits), is_explained=is_explained
        )
        place = {group_slowdown.SURFACE}
        if found is None:
            if is_explained or not self._group.is_clean():
                return []
            everyone = frozenset(range(len(check.group_ranks)))
            return [
                IncidentClosed(verdict_id=over.verdict_id, step=check.step,
                               why="measured within the limit again")
                for over in self._straggler.on_clean(everyone, place)
            ]  # fmt: skip
        fresh = self._straggler.on_found(frozenset(), place)
        if fresh is None:
            return []
        verdict = check_verdict.group_slowdown(
            check, found, self.config, fresh.number, at_ns, ref
        )
        fresh.verdict_id = verdict.verdict_id
        return [verdict]


def evaluated(check: CheckCompleted, config: ScoutConfig) -> CheckCompleted:
    """The check with every status, bitmap and statistic computed from its values."""
    return replace(
        check,
        surfaces=tuple(_evaluated_surface(s) for s in check.surfaces),
        timings=tuple(_evaluated_timing(t, config) for t in check.timings),
    )


def charged_s(timing: TimingEvidence) -> tuple[float | None, ...]:
    """What counts against each peer, seconds; None where it is missing."""
    throttled = timing.throttled_s or (0.0,) * len(timing.wall_s)
    parts = zip(
        timing.wall_s, timing.on_cpu_s, timing.run_wait_s, throttled, strict=True
    )
    return tuple(
        None
        if wall is None or cpu is None or wait is None
        else charged(wall, cpu, wait, held or 0.0)
        for wall, cpu, wait, held in parts
    )


def _evaluated_surface(surface: SurfaceEvidence) -> SurfaceEvidence:
    result = exact(surface.values)
    return replace(
        surface, status=result.status.value, bitmap=result.bitmap, k=result.k,
        n=result.n,
    )  # fmt: skip


def _evaluated_timing(timing: TimingEvidence, config: ScoutConfig) -> TimingEvidence:
    values = charged_s(timing)
    if timing.surface == group_slowdown.SURFACE:
        return _evaluated_waits(timing, values, config)
    judged = judge(timing.surface, values, config)
    slow = {item.peer for item in judged.slow}
    bitmap = "".join(
        "?" if value is None else "1" if peer in slow else "0"
        for peer, value in enumerate(values)
    )
    # Alg. 1 also marks peers inside the floors, and quick ones: no straggler, so the
    # status that the pages show is the one after the floors.
    status = judged.result.status
    if status is Status.ATTRIBUTED and not slow:
        status = Status.AGREE
    slowest = max((v for v in values if v is not None), default=None)
    statistic = Statistic(
        name="charged time", value=slowest, threshold=judged.threshold_s,
        expression=expression(config), unit="s",
    )  # fmt: skip
    return replace(timing, status=status.value, bitmap=bitmap, statistic=statistic)


def _evaluated_waits(
    timing: TimingEvidence, values: tuple[float | None, ...], config: ScoutConfig
) -> TimingEvidence:
    """Waits mark nobody: whoever comes early waits long."""
    is_whole = None not in values
    least = min((value for value in values if value is not None), default=None)
    statistic = Statistic(
        name="least wait", value=least, threshold=None,
        expression=group_slowdown.expression(config), unit="s",
    )  # fmt: skip
    return replace(
        timing,
        status=(Status.AGREE if is_whole else Status.INCOMPLETE).value,
        bitmap="".join("?" if value is None else "0" for value in values),
        statistic=statistic,
    )


def _slow_in(place: str, timing: TimingEvidence, config: ScoutConfig) -> list[Slow]:
    values = charged_s(timing)
    judged = judge(place, values, config)
    if judged.slow or judged.threshold_s is None:
        return list(judged.slow)
    worst = max(v for v in values if v is not None)
    if worst > judged.threshold_s:  # they differ, and nobody can be named
        return [Slow(peer=-1, surface=place, value_s=worst,
                     threshold_s=judged.threshold_s,
                     median_s=judged.result.median or 0.0)]  # fmt: skip
    return []


def _marked(bitmap: str) -> list[int]:
    return [peer for peer, mark in enumerate(bitmap) if mark == "1"]


def _place(surface: SurfaceEvidence) -> str:
    return surface.layer or surface.recipe


def _held(check: CheckCompleted, found: list[SurfaceEvidence]) -> frozenset[str]:
    is_slice = any(surface.recipe == "optimizer" for surface in found)
    return frozenset(check.sliced if is_slice else ())


def _timed_place(timing: TimingEvidence) -> str:
    return f"{timing.layer or timing.recipe}.{timing.surface.rpartition('.')[2]}"
