"""Events of a run as values, for tests of what scores them; no files, no clock."""

from __future__ import annotations

from typing import Any

from harness.scenario import Scenario, from_data
from harness.store import Ended
from vocab import events as ev
from vocab.verdict import Action, Kind, Scope, State, Verdict

STEPS = 12
SDC = {"kind": "sdc.parameter", "rank": 2, "at_step": 5, "id": "flip"}
EXPECT_SDC = {"kind": "sdc", "ranks": [2], "from_step": 5, "by_step": 8}
FINISHED = Ended(reason="finished", detail="", wall_s=9.5, first_step_s=2.5)


def scenario(
    faults: list[dict[str, Any]] | None = None,
    expect: list[dict[str, Any]] | None = None,
    **fields: Any,
) -> Scenario:
    return from_data(
        {
            "title": "played",
            "steps": STEPS,
            "workload": {"parallel": {"replicate": 4}},
            "faults": faults or [],
            "expect": expect or [],
            **fields,
        }
    )


def verdict(
    kind: str = "sdc",
    *ranks: int,
    step: int | None = 6,
    state: str | None = None,
    name: str = "v1",
    at_ns: int = 0,
    supersedes: str | None = None,
) -> Verdict:
    default = State.ATTRIBUTED if ranks else State.GROUP_SCOPED
    return Verdict(
        verdict_id=name,
        incident=1,
        kind=Kind(kind),
        state=State(state) if state else default,
        scope=Scope.RANK,
        reason_code="played",
        reason="as told",
        action=Action.CONTINUE,
        group="replicate",
        blamed=tuple(f"rank{rank}" for rank in ranks),
        step=step,
        supersedes=supersedes,
        at_ns=at_ns,
    )


def check(step: int = 2, problem: str | None = None) -> ev.CheckCompleted:
    return ev.CheckCompleted(
        check=0,
        step=step,
        group="replicate",
        group_ranks=(0, 1, 2, 3),
        recipes=("hidden",),
        layer="blocks.0",
        source_rank=0,
        missing=(),
        surfaces=(),
        timings=(),
        variants=(1.0,),
        replay_mode="broadcast",
        replay_shape=None,
        duration_s=0.1,
        problem=problem,
    )


def injected(fault_id: str = "flip", step: int = 5, rank: int = 2) -> ev.FaultInjected:
    return ev.FaultInjected(
        fault_id=fault_id,
        kind="sdc.parameter",
        label="SDC",
        color="#d62728",
        targets=(f"rank{rank}",),
        step=step,
        changes=(ev.Change(what="w[0] bit 21", before="0x0", after="0x1"),),
    )


def healed(fault_id: str = "flip", rank: int = 2) -> ev.FaultHealed:
    return ev.FaultHealed(
        fault_id=fault_id,
        kind="sdc.parameter",
        targets=(f"rank{rank}",),
        step=8,
        changes=(),
        num_strikes=3,
    )


class Play:
    """Collects events with rising times, a tenth of a second apart."""

    def __init__(self) -> None:
        self.events: list[ev.Stamped] = []
        self._opened: set[str] = set()

    def add(self, source: str, *events: ev.Event) -> Play:
        if source not in self._opened:
            self._opened.add(source)
            self._put(source, ev.FileOpened(wall_ns=10**18, boot_id="boot", pid=1))
        for event in events:
            self._put(source, event)
        return self

    def steps(self, *done: int) -> Play:
        for rank, last in enumerate(done):
            for step in range(1, last + 1):
                self.add(
                    f"rank{rank}", ev.StepEnded(step=step, duration_s=0.1, loss=1.0)
                )
        return self

    def verdicts(self, *verdicts: Verdict) -> Play:
        return self.add("rank0", *(ev.VerdictIssued(verdict=v) for v in verdicts))

    def _put(self, source: str, event: ev.Event) -> None:
        self.events.append(
            ev.Stamped(
                seq=len(self.events),
                t_ns=len(self.events) * 100_000_000,
                source=source,
                event=event,
            )
        )


def healthy(num_checks: int = 6) -> Play:
    """All four ranks did all steps and were checked."""
    play = Play().steps(STEPS, STEPS, STEPS, STEPS)
    for number in range(num_checks):
        play.add("rank0", check(2 * number + 2))
    return play


def struck(*verdicts: Verdict) -> Play:
    """A healthy run with the fault `flip` injected, verdicts, and healed."""
    play = healthy().add("faults.rank2", injected())
    return play.verdicts(*verdicts).add("faults.rank2", healed())
