"""A run's fabric side again, with other seeds and without training (issue 7).

    record: bytes of every step (ExchangeEnded) ─► Player(seed') ─► Detection
                                                    └► FabricDriver ─► truth ─► score

Called by `faultyard analyze fabric`. One training run stands for many: only packets are
played anew. The verdicts are scored as a run's own are, against the same expectations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.errors import UsageError
from harness.fabric.calibration import sensitivities
from harness.fabric.carrier import Fabric
from harness.fabric.detection import Detection, Output
from harness.fabric.player import Player
from harness.matching import Matching, effective, match
from harness.scenario import Expectation, Scenario
from injectors.fabric_driver import FabricDriver
from vocab.event_base import Event
from vocab.events import FaultInjected, Stamped, VerdictIssued
from vocab.fabric_events import ExchangeEnded, Sensitivity
from vocab.verdict import Kind, Verdict

_STEP_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a training run says about its traffic: bytes of one rank, by step."""

    job_bytes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """One replay."""

    seed: int
    verdicts: tuple[Verdict, ...]
    num_expected: int
    num_found: int
    extras: tuple[Verdict, ...]  # answer no expectation
    num_injected: int
    num_faults: int
    extra_s: float  # simulated time that the faults cost

    @property
    def is_right(self) -> bool:
        """All faults struck, all that is expected was found, and nothing else."""
        return (
            self.num_injected == self.num_faults
            and self.num_found == self.num_expected
            and not self.extras
        )


def record_of(events: Sequence[Stamped]) -> Record:
    """The traffic of a run.

    Raises:
        UsageError: it had no fabric.
    """
    steps = [
        (item.event.step, item.event.job_bytes)
        for item in events
        if isinstance(item.event, ExchangeEnded)
    ]
    if not steps:
        raise UsageError("the run has no ExchangeEnded; allowed: one with a fabric")
    return Record(job_bytes=tuple(steps))


def replay(
    scenario: Scenario, record: Record, seeds: Sequence[int]
) -> Iterator[SeedResult]:
    """Play the record once for each seed of the fabric.

    Raises:
        UsageError: the scenario has no fabric.
    """
    settings = scenario.fabric
    if settings == "none":
        raise UsageError("fabric is 'none'; allowed: a scenario with a fabric")
    found = sensitivities(settings)
    for seed in seeds:
        yield _replay(scenario, record, seed, found)


@dataclass(slots=True)
class _Tape:
    """In place of files: events get their places here, a nanosecond apart.

    A step takes a second, half of it until the last packets: flows of one step are
    measured in the same time, as beside a job.
    """

    detection: Detection
    now_ns: int = 0
    seqs: dict[str, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def write(self, source: str, event: Event) -> None:
        """Keep an event, and all that follows from it."""
        todo = [Output(source=source, event=event)]
        while todo:
            item = todo.pop(0)
            self.events.append(item.event)
            seq = self.seqs.get(item.source, 0)
            self.seqs[item.source], self.now_ns = seq + 1, self.now_ns + 1
            stamped = Stamped(
                seq=seq, t_ns=self.now_ns, source=item.source, event=item.event
            )
            todo = [*self.detection.on_event(stamped), *todo]


def _replay(
    scenario: Scenario, record: Record, seed: int, found: tuple[Sensitivity, ...]
) -> SeedResult:
    assert scenario.fabric != "none"
    settings = scenario.fabric.model_copy(update={"seed": seed})
    truth: list[Event] = []
    tape = _Tape(Detection())
    faults = scenario.fabric_faults()
    fabric = Fabric(
        settings=settings,
        player=Player(settings, scenario.num_ranks, scenario.seed),
        driver=FabricDriver(faults, seed=scenario.seed, emit=truth.append),
        journal=tape,
    )
    fabric.ready(scenario.num_ranks, found, startup_s=0.0, pid=0)
    for turn, (step, job_bytes) in enumerate(record.job_bytes, start=1):
        tape.now_ns = turn * _STEP_NS
        fabric.begin(step, job_bytes)
        tape.now_ns = turn * _STEP_NS + _STEP_NS // 2
        fabric.finish(job_bytes)
    fabric.end("the record is over")
    verdicts = tuple(
        item.verdict for item in tape.events if isinstance(item, VerdictIssued)
    )
    expected = links_expected(scenario)
    standing = effective(verdicts)
    matching: Matching = match(expected, standing)
    return SeedResult(
        seed=seed,
        verdicts=verdicts,
        num_expected=len(expected),
        num_found=sum(answer is not None for answer in matching.answers),
        extras=tuple(standing[index] for index in matching.extras),
        num_injected=sum(isinstance(item, FaultInjected) for item in truth),
        num_faults=len(faults),
        extra_s=sum(
            item.extra_s for item in tape.events if isinstance(item, ExchangeEnded)
        ),
    )


def links_expected(scenario: Scenario) -> list[Expectation]:
    """Expectations that the fabric side answers; ranks are not replayed."""
    return [item for item in scenario.expect if item.kind is Kind.LINK]
