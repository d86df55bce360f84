"""Run the deciders again on a run's stored evidence (DESIGN sec. 2.2, 2.4).

    events/rank*.jsonl      CheckCompleted    ─► scout.decide  ─► Verdict (sdc, slow)
    events/observer*.jsonl  ProgressCompared  ─► scout.hang    ─► Verdict (hang, crash)
    events/leaf*.jsonl      FlowCounted       ─► spraycheck    ─► Verdict (link)

Reads nothing that tells the truth: no `faults.*` file, and of the scenario only SCOUT's
settings and the mesh. Same evidence and settings give the same verdicts.
"""

from __future__ import annotations

from dataclasses import replace

from harness.fabric.analysis import link_verdicts
from harness.scenario import Scenario
from harness.store import RunDirectory
from scout.config import ScoutConfig
from scout.decide import CheckDecider
from scout.hang import reclassify
from scout.hang_verdict import to_verdict
from scout.mesh import Mesh
from vocab.events import (
    CheckCompleted,
    ProgressCompared,
    Stamped,
    TierReported,
    VerdictIssued,
)
from vocab.verdict import EvidenceRef, Verdict

DETECTORS = ("rank*", "observer*", "fabric", "leaf*", "monitor")
"""Whose files hold evidence or verdicts; never `faults.*`."""


def recompute(
    run: RunDirectory, config: ScoutConfig | None = None
) -> tuple[Verdict, ...]:
    """Verdicts that the deciders give on the stored evidence, by time.

    Args:
        run: any run, also one that was killed.
        config: settings to use instead of the run's own.

    Raises:
        ScenarioError: the run's scenario cannot be read.
    """
    scenario = run.scenario()
    events = evidence_of(run)
    found = list(link_verdicts(events))
    if config is None and scenario.scout != "off":
        config = scenario.scout
    if config is not None:
        found += _from_checks(events, config)
        found += _from_progress(events, config, scenario)
    return tuple(sorted(found, key=lambda verdict: verdict.at_ns))


def stored(run: RunDirectory) -> tuple[Verdict, ...]:
    """Verdicts that the run's own detectors wrote, by time."""
    found = [
        stamped.event.verdict
        for stamped in evidence_of(run)
        if isinstance(stamped.event, VerdictIssued)
    ]
    return tuple(sorted(found, key=lambda verdict: verdict.at_ns))


def without_time(verdict: Verdict) -> Verdict:
    """The verdict less the moment of its decision, which no re-run can repeat."""
    return replace(verdict, at_ns=0)


def mesh_of(scenario: Scenario) -> Mesh:
    """The mesh of a scenario's job."""
    return Mesh.from_sizes(**scenario.workload.parallel.model_dump())


def evidence_of(run: RunDirectory) -> list[Stamped]:
    """All that detectors saw or said, by time."""
    reader = run.reader()
    found = [s for which in DETECTORS for s in reader.read(sources=which).events]
    return sorted(found, key=lambda stamped: stamped.t_ns)


def checks_of(run: RunDirectory) -> tuple[CheckCompleted, ...]:
    """All checks of a run, by time."""
    events = (stamped.event for stamped in evidence_of(run))
    return tuple(event for event in events if isinstance(event, CheckCompleted))


def _from_checks(events: list[Stamped], config: ScoutConfig) -> list[Verdict]:
    deciders: dict[str, CheckDecider] = {}
    found: list[Verdict] = []
    for stamped in events:
        event = stamped.event
        if isinstance(event, TierReported):
            deciders.clear()  # the job was started (again): ranks remember nothing
        if not isinstance(event, CheckCompleted):
            continue
        decider = deciders.setdefault(event.group, CheckDecider(config=config))
        decisions = decider.on_check(event, at_ns=stamped.t_ns, ref=_ref(stamped))
        found += [item for item in decisions if isinstance(item, Verdict)]
    return found


def _from_progress(
    events: list[Stamped], config: ScoutConfig, scenario: Scenario
) -> list[Verdict]:
    mesh = mesh_of(scenario)
    deaf: dict[tuple[str, int], list[set[str]]] = {}  # who had not heard what was told
    found = []
    for stamped in events:
        event = stamped.event
        if not isinstance(event, ProgressCompared):
            continue
        group = mesh.peer_group(event.group_ranks[0]).role
        incident = (group, event.comparison)
        first = f"hang-{event.comparison}"
        found.append(
            to_verdict(
                reclassify(event, config.silence_of),
                incident=event.comparison,
                group=group,
                at_ns=stamped.t_ns,
                evidence=(_ref(stamped),),
                supersedes=first if _knew(stamped.source, deaf.get(incident)) else None,
            )
        )
        missing = {f"observer{rank}" for rank in event.missing}
        deaf.setdefault(incident, []).append(missing)
    return found


def _knew(observer: str, deaf: list[set[str]] | None) -> bool:
    """Whether an observer knew of an earlier verdict on the incident it numbers so.

    Observers that do not hear each other number their incidents each on its own.
    """
    return any(observer not in unheard for unheard in deaf or ())


def _ref(stamped: Stamped) -> EvidenceRef:
    return EvidenceRef(source=stamped.source, seq=stamped.seq)
