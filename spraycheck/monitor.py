"""The network monitor: all leaves' reports in, incidents out (SprayCheck sec. 4).

Pure: `on_...(…, now_ns)` in, `VerdictIssued` and `IncidentClosed` out. Called by the
fabric's monitor process, by the simulator and by re-analysis.

    leaf controllers ─► PathsReported ─► newest streak of every path ─► localize
                                                  findings ─► incidents ─► verdicts

One verdict per incident. A finding that explains the failing paths of an open incident
in another way supersedes its verdict; an incident whose paths all pass again is closed;
doubt alone (a passing path not measured for a while) takes no blame back.
An ambiguous or contradicted path is told only after `patience_ns`, or at the end: the
flow that settles it is usually on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spraycheck.errors import ReportError
from spraycheck.link_verdict import (
    Finding,
    PathMeasure,
    findings_of,
    silence,
    to_verdict,
)
from spraycheck.localize import PathEvidence, Sighting, localize
from spraycheck.report import PathsReported
from spraycheck.shortfall import shortfall
from spraycheck.ztest import SpineResult
from vocab.events import IncidentClosed, VerdictIssued
from vocab.graph import LeafSpine, Path
from vocab.verdict import EvidenceRef, Scope, State, Verdict

News = tuple[VerdictIssued | IncidentClosed, ...]
_NS_PER_S = 1e9
_NUM_SIGHTINGS = 4  # kept of a path; whom it lies beside is measured in turn


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorConfig:
    """Settings of the monitor."""

    patience_ns: int = 10_000_000_000
    """How long a finding that blames nobody waits for a better one."""
    confirmations: int = 2
    """Pairs of measurements that must agree before a link is blamed."""
    silent_after_ns: int = 120_000_000_000
    """A leaf that neither reports nor beats for so long is missing: two of the
    control plane's minutes."""


@dataclass(slots=True)
class _Track:
    """What is known of one path."""

    evidence: PathEvidence
    measure: PathMeasure
    source: EvidenceRef | None


@dataclass(slots=True)
class _Incident:
    number: int
    revision: int
    key: tuple[str, ...]
    paths: frozenset[Path]
    verdict_id: str
    state: State


@dataclass(slots=True)
class Monitor:
    """The monitor of one fabric."""

    graph: LeafSpine
    config: MonitorConfig = field(default_factory=MonitorConfig)
    _tracks: dict[Path, _Track] = field(default_factory=dict)
    # By spine, so that a report costs nothing on the spines where nothing fails.
    _measured: dict[int, set[Path]] = field(default_factory=dict)
    _failing: dict[int, set[Path]] = field(default_factory=dict)
    _open: list[_Incident] = field(default_factory=list)
    _heard: dict[int, int] = field(default_factory=dict)
    _silent: dict[int, str] = field(default_factory=dict)  # leaf -> verdict
    _count: int = 0

    def on_report(
        self,
        report: PathsReported,
        now_ns: int,
        *,
        step: int | None = None,
        source: EvidenceRef | None = None,
    ) -> News:
        """A leaf compared the paths from another leaf.

        Raises:
            ReportError: it names a leaf or a path that is not in the fabric.
        """
        paths = self._paths_of(report)
        news = self.on_heartbeat(report.target_leaf, now_ns)
        if not report.is_conclusive:
            return news
        for path, result in zip(paths, report.result.spines, strict=True):
            self._tracks[path] = _Track(
                evidence=self._streak(path, report, result),
                measure=PathMeasure(result=result, threshold=report.result.threshold),
                source=source,
            )
            self._index(path, result.failed)
        return news + self._update(now_ns, step, final=False)

    def on_heartbeat(self, leaf: int, now_ns: int) -> News:
        """A leaf's controller lives, whether or not it had anything to measure.

        Raises:
            ReportError: there is no such leaf.
        """
        self._check_leaf(leaf)
        self._heard[leaf] = now_ns
        verdict_id = self._silent.pop(leaf, None)
        if verdict_id is None:
            return ()
        why = "the leaf reports again"
        return (IncidentClosed(verdict_id=verdict_id, step=None, why=why),)

    def on_routing_changed(self, graph: LeafSpine, now_ns: int) -> News:
        """Links left or joined the routing; what was measured on gone paths is void."""
        self.graph = graph
        usable = set(self._usable())
        self._tracks = {p: t for p, t in self._tracks.items() if p in usable}
        self._measured.clear()
        self._failing.clear()
        for path, track in self._tracks.items():
            self._index(path, track.evidence.failed)
        return self._update(now_ns, None, final=False)

    def on_tick(self, now_ns: int, *, step: int | None = None) -> News:
        """Time passed: tell what nothing settled, and who is silent."""
        return self._find_silent(now_ns) + self._update(now_ns, step, final=False)

    def on_finished(self, now_ns: int, *, step: int | None = None) -> News:
        """Nothing more will come: tell what is still open."""
        return self._update(now_ns, step, final=True)

    def evidence(self) -> tuple[PathEvidence, ...]:
        """The newest streak of every path that was measured."""
        return tuple(self._tracks[path].evidence for path in sorted(self._tracks))

    def unmeasured(self) -> tuple[Path, ...]:
        """Usable paths without a conclusive report: neither healthy nor failed."""
        return tuple(path for path in self._usable() if path not in self._tracks)

    # --- reports ------------------------------------------------------------------

    def _paths_of(self, report: PathsReported) -> tuple[Path, ...]:
        self._check_leaf(report.source_leaf)
        self._check_leaf(report.target_leaf)
        known = self.graph.paths(report.source_leaf, report.target_leaf)
        spines = tuple(item.spine for item in report.result.spines)
        if spines != tuple(path.spine for path in known):
            allowed = ", ".join(str(path.spine) for path in known) or "none"
            raise ReportError(
                f"report of leaf{report.source_leaf} to leaf{report.target_leaf} has "
                f"spines {spines}; allowed: {allowed}"
            )
        return known

    def _check_leaf(self, leaf: int) -> None:
        if not 0 <= leaf < self.graph.num_leaves:
            allowed = f"leaf0..leaf{self.graph.num_leaves - 1}"
            raise ReportError(f"leaf{leaf} is not in the fabric; allowed: {allowed}")

    def _usable(self) -> Iterable[Path]:
        for source in range(self.graph.num_leaves):
            for target in range(self.graph.num_leaves):
                yield from self.graph.paths(source, target)

    def _streak(
        self, path: Path, report: PathsReported, result: SpineResult
    ) -> PathEvidence:
        lost = shortfall(report.result, result)
        sightings: tuple[Sighting, ...] = (
            Sighting(
                lost_frac=lost.lost_frac,
                started_ns=report.started_ns,
                ended_ns=report.ended_ns,
                healthy_pkts=lost.healthy_pkts,
                sensitivity=lost.sensitivity,
            ),
        )
        first_ended_ns = report.ended_ns
        old = self._tracks.get(path)
        if old is not None and old.evidence.failed is result.failed:
            sightings = (*old.evidence.sightings, *sightings)[-_NUM_SIGHTINGS:]
            first_ended_ns = min(old.evidence.first_ended_ns, report.ended_ns)
        return PathEvidence(
            path=path,
            failed=result.failed,
            sightings=sightings,
            first_ended_ns=first_ended_ns,
        )

    def _index(self, path: Path, failed: bool) -> None:
        self._measured.setdefault(path.spine, set()).add(path)
        failing = self._failing.setdefault(path.spine, set())
        if failed:
            failing.add(path)
        else:
            failing.discard(path)

    # --- incidents ----------------------------------------------------------------

    def _update(self, now_ns: int, step: int | None, *, final: bool) -> News:
        findings = findings_of(
            localize(
                (
                    self._tracks[path].evidence
                    for spine, failing in self._failing.items()
                    if failing
                    for path in self._measured[spine]
                ),
                confirmations=self.config.confirmations,
            )
        )
        told = {item.key: item for item in self._open}
        held = [item for item in self._open if self._is_only_doubted(item, findings)]
        current = {item.key for item in findings} | {item.key for item in held}
        news: News = ()
        for finding in findings:
            if any(finding.paths <= item.paths for item in held):
                continue
            if finding.key in told:
                told[finding.key].paths |= finding.paths
                continue
            before = self._predecessor(finding, current)
            if before is None and not (final or self._is_ripe(finding, now_ns)):
                continue
            news += (self._tell(finding, before, now_ns, step),)
        return news + self._close_gone(current, step)

    @staticmethod
    def _is_only_doubted(item: _Incident, findings: Sequence[Finding]) -> bool:
        """Whether somebody was blamed, and nothing contradicts it since."""
        about = [finding for finding in findings if finding.paths & item.paths]
        return (
            item.state is State.ATTRIBUTED
            and bool(about)
            and all(finding.state is State.GROUP_SCOPED for finding in about)
        )

    def _predecessor(
        self, finding: Finding, current: set[tuple[str, ...]]
    ) -> _Incident | None:
        """The open incident whose failing paths this finding explains otherwise."""
        for incident in self._open:
            if incident.key not in current and incident.paths & finding.paths:
                return incident
        return None

    def _is_ripe(self, finding: Finding, now_ns: int) -> bool:
        sources = {path.source_leaf for path in finding.paths}
        is_whole = finding.scope is not Scope.SWITCH or (
            len(sources) == self.graph.num_leaves  # the next leaf's may pass
        )
        if finding.state is State.ATTRIBUTED and is_whole:
            return True
        since = min(
            self._tracks[path].evidence.first_ended_ns for path in finding.paths
        )
        return now_ns - since >= self.config.patience_ns

    def _tell(
        self,
        finding: Finding,
        before: _Incident | None,
        now_ns: int,
        step: int | None,
    ) -> VerdictIssued:
        if before is None:
            self._count += 1
            number, revision = self._count, 0
        else:
            self._open.remove(before)
            number, revision = before.number, before.revision + 1
        tracks = {path: self._tracks[path] for path in sorted(finding.paths)}
        verdict = to_verdict(
            finding,
            {path: track.measure for path, track in tracks.items()},
            incident=number,
            revision=revision,
            at_ns=now_ns,
            step=step,
            evidence=tuple({t.source: None for t in tracks.values() if t.source}),
            supersedes=None if before is None else before.verdict_id,
        )
        self._open.append(
            _Incident(
                number,
                revision,
                finding.key,
                finding.paths,
                verdict.verdict_id,
                finding.state,
            )
        )
        return VerdictIssued(verdict=verdict)

    def _close_gone(self, current: set[tuple[str, ...]], step: int | None) -> News:
        gone = [item for item in self._open if item.key not in current]
        self._open = [item for item in self._open if item.key in current]
        closed = []
        for item in gone:
            failing = any(
                path in self._tracks and self._tracks[path].evidence.failed
                for path in item.paths
            )
            why = "another incident explains its paths" if failing else (
                "its paths lose no packets any more"
            )  # fmt: skip
            closed.append(
                IncidentClosed(verdict_id=item.verdict_id, step=step, why=why)
            )
        return tuple(closed)

    def _find_silent(self, now_ns: int) -> News:
        news: list[VerdictIssued] = []
        for leaf in range(self.graph.num_leaves):
            # The first tick starts the clock of a leaf that never said anything.
            age_ns = now_ns - self._heard.setdefault(leaf, now_ns)
            if age_ns < self.config.silent_after_ns or leaf in self._silent:
                continue
            self._count += 1
            verdict: Verdict = silence(
                leaf, incident=self._count, at_ns=now_ns, silent_s=age_ns / _NS_PER_S
            )
            self._silent[leaf] = verdict.verdict_id
            news.append(VerdictIssued(verdict=verdict))
        return tuple(news)
