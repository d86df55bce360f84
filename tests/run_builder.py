"""Run directories for tests: real files, written by the real writer, at chosen times.

    run = sdc_run(tmp_path / "runs")      # a finished run whose verdict names rank2

Each maker plays one kind of run through `RunBuilder`, which moves a clock by hand, so
that every run is the same at each call and no test has to wait.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import vocab.journal
from harness.results import (
    ExtraVerdict,
    FaultResult,
    IncidentResult,
    Outcome,
    Results,
)
from harness.scenario import Scenario, from_data
from harness.store import Ended, Meta, RunDirectory, Store
from vocab import events as ev
from vocab.journal import EventWriter
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

START_WALL_NS = 1_790_000_000_000_000_000
BOOT_NS = 50_000_000_000
NUM_RANKS = 4
GROUP = "replicate"
VARIANTS = ("x1", "x0.1", "x10")


class RunBuilder:
    """Writes one run, event by event, at times that the caller sets."""

    def __init__(self, root: Path, scenario: Scenario, run_id: str) -> None:
        self.scenario = scenario
        self.now_s = 0.0
        self._writers: dict[str, EventWriter] = {}
        meta = Meta(
            run_id=run_id,
            scenario_name=run_id[16:-5],
            title=scenario.title,
            seed=scenario.seed,
            num_ranks=scenario.num_ranks,
            num_steps=scenario.steps,
            created_wall_ns=START_WALL_NS,
            command=f"faultyard run {run_id[16:-5]} --seed {scenario.seed}",
            commit="0123456789abcdef0123456789abcdef01234567",
            dirty=False,
            versions={"torch": "2.13.0", "faultyard": "0.1.0"},
            host="bench-1",
        )
        self.run = Store(root).create(scenario, meta)
        self._num_checks = 0

    def at(self, now_s: float) -> RunBuilder:
        """Move the clock."""
        self.now_s = now_s
        return self

    def write(self, source: str, event: ev.Event) -> None:
        """Append one event to `source`'s file, now."""
        with self._clock():
            if source not in self._writers:
                self._writers[source] = EventWriter(self.run.events, source).open()
            self._writers[source].write(event)

    def close(self) -> RunDirectory:
        """Close all files."""
        for writer in self._writers.values():
            writer.close()
        return self.run

    def start(self) -> None:
        """Queue and start the ranks and their observers."""
        scenario = self.scenario
        self.write("harness", ev.PhaseChanged(phase="queued"))
        self.write(
            "harness",
            ev.RunStarted(
                run_id=self.run.run_id,
                title=scenario.title,
                seed=scenario.seed,
                num_ranks=NUM_RANKS,
                num_steps=scenario.steps,
                command="faultyard run",
                commit="0123456",
                dirty=False,
            ),
        )
        self.at(0.1).write("harness", ev.PhaseChanged(phase="starting"))
        for rank in range(NUM_RANKS):
            self.write(
                "harness", ev.ProcessStarted(name=f"rank{rank}", pid=4000 + rank)
            )
            self.at(1.6).write(
                f"rank{rank}",
                ev.TierReported(
                    tier="boundaries", sees=("modules", "optimizer"), blind=("C++",)
                ),
            )
            self.write(
                f"observer{rank}",
                ev.ObserverReady(
                    rank=rank, pid=5000 + rank, startup_s=0.2, rss_bytes=14 << 20
                ),
            )
        self.at(1.8).write("harness", ev.PhaseChanged(phase="running"))

    def step(self, step: int, *, ranks: range = range(NUM_RANKS)) -> None:
        """All `ranks` end a step, 0.3 s after the last event."""
        self.now_s += 0.3
        for rank in ranks:
            self.now_s += 0.002
            self.write(
                f"rank{rank}",
                ev.StepEnded(step=step, duration_s=0.31, loss=6.2 - 0.05 * step),
            )

    def check(
        self,
        step: int,
        *,
        corrupt: int | None = None,
        slow: int | None = None,
        missing: tuple[int, ...] = (),
        problem: str | None = None,
    ) -> int:
        """One check of the only group; returns its number."""
        number = self._num_checks
        self._num_checks += 1
        self.now_s += 0.05
        layer = f"blocks.{number % 3}"
        surfaces = tuple(
            _surface(name, recipe, layer if recipe == "hidden" else None, number,
                     corrupt if _is_touched(recipe, name) else None, missing)
            for recipe, name in _surface_names()
        )  # fmt: skip
        self.write(
            "rank0",
            ev.CheckCompleted(
                check=number,
                step=step,
                group=GROUP,
                group_ranks=tuple(range(NUM_RANKS)),
                recipes=("embedding", "hidden", "lm_head", "optimizer"),
                layer=layer,
                source_rank=number % NUM_RANKS,
                missing=missing,
                surfaces=surfaces,
                timings=_timings(layer, slow, missing),
                variants=(1.0, 0.1, 10.0),
                replay_mode="broadcast",
                replay_shape=(4, 32, 64),
                duration_s=0.042,
                problem=problem,
            ),
        )
        return number

    def beat(self, number: int, step: int, *, silent: int | None = None,
             silent_s: float = 4.2) -> None:  # fmt: skip
        """All observers beat once; the trainer of rank `silent` is stopped."""
        for rank in range(NUM_RANKS):
            is_silent = rank == silent
            self.write(
                f"observer{rank}",
                ev.ObserverHeartbeat(
                    rank=rank,
                    beat=number,
                    step=step,
                    phase="forward" if is_silent else "backward",
                    silent_s=silent_s if is_silent else 0.1,
                    threshold_s=3.0,
                    trainer_state="T" if is_silent else "S",
                    rss_bytes=14 << 20,
                ),
            )

    def verdict(self, verdict: Verdict, source: str = "rank0") -> None:
        """A detector speaks."""
        self.now_s += 0.01
        self.write(source, ev.VerdictIssued(verdict=verdict))

    def end(self, results: Results, reason: str = "finished") -> RunDirectory:
        """Phases 2 and 3."""
        self.now_s += 0.2
        for rank in range(NUM_RANKS):
            self.write(
                "harness",
                ev.ProcessExited(
                    name=f"rank{rank}", pid=4000 + rank, exit_code=0, signal=None
                ),
            )
        self.write("harness", ev.PhaseChanged(phase="checking"))
        ended = Ended(reason=reason, detail="", wall_s=self.now_s, first_step_s=2.1)
        self.run.write_ended(ended)
        self.write(
            "harness",
            ev.RunEnded(outcome=results.outcome.value, reason=results.reason),
        )
        self.write("harness", ev.PhaseChanged(phase="ended"))
        self.run.write_results(results)
        return self.close()

    @contextmanager
    def _clock(self) -> Iterator[None]:
        monotonic = BOOT_NS + round(self.now_s * 1e9)
        fake = types.SimpleNamespace(
            monotonic_ns=lambda: monotonic,
            time_ns=lambda: START_WALL_NS + round(self.now_s * 1e9),
        )
        with mock.patch.object(vocab.journal, "time", fake):
            yield


def scenario_of(kind: str) -> Scenario:
    """The scenario of one of the made runs."""
    faults: dict[str, dict[str, object]] = {
        "clean": {},
        "sdc": {"kind": "sdc.parameter", "rank": 2, "at_step": 5, "until_step": 8},
        "straggler": {"kind": "straggler.compute", "rank": 1, "at_step": 4},
        "hang": {"kind": "hang.frozen", "rank": 3, "at_step": 6},
    }
    found = {"sdc": ("sdc", 2, 5, 8), "straggler": ("straggler", 1, 4, 10),
             "hang": ("hang", 3, 6, 7)}  # fmt: skip
    data: dict[str, object] = {
        "title": {
            "clean": "A healthy job: nobody may be blamed",
            "sdc": "One replica's parameter silently flips a bit",
            "straggler": "One rank is slow in one layer's forward pass",
            "hang": "One rank freezes in the middle of a step",
        }[kind],
        "description": "Made for a test.",
        "seed": 7,
        "workload": {"parallel": {"replicate": NUM_RANKS}},
        "scout": {"replay_every": 2},
        "faults": [faults[kind]] if faults[kind] else [],
        "expect": [],
    }
    if kind in found:
        name, rank, first, last = found[kind]
        data["expect"] = [
            {"kind": name, "ranks": [rank], "from_step": first, "by_step": last}
        ]
    return from_data(data)


def clean_run(root: Path, run_id: str = "20261130-221500-clean-0001") -> RunDirectory:
    """Twelve healthy steps, six checks, nobody blamed; passed."""
    builder = RunBuilder(root, scenario_of("clean"), run_id)
    builder.start()
    for step in range(1, 13):
        builder.step(step)
        builder.beat(step, step)
        if step % 2 == 0:
            builder.check(step)
    return builder.end(results_of(Outcome.PASS, "nobody was blamed, as expected"))


def sdc_run(
    root: Path, run_id: str = "20261130-221600-sdc-parameter-0002", *,
    until: str = "end",
) -> RunDirectory:  # fmt: skip
    """rank2 computes wrong values from step 5 on and is named at step 6; passed.

    Args:
        until: `end`, or `verdict` to leave the run in the middle.
    """
    builder = RunBuilder(root, scenario_of("sdc"), run_id)
    builder.start()
    for step in range(1, 13):
        builder.step(step)
        builder.beat(step, step)
        if step == 5:
            builder.write("faults.rank2", sdc_injected())
        bad = 2 if 5 <= step <= 8 else None
        if step % 2 == 0:
            builder.check(step, corrupt=bad)
        if step == 6:
            builder.verdict(sdc_verdict())
            if until == "verdict":
                return builder.close()
        if step == 9:
            builder.write("faults.rank2", sdc_healed())
        if step == 10:
            builder.write(
                "rank0",
                ev.IncidentClosed(
                    verdict_id="scout-replicate-1", step=10, why="all agree again"
                ),
            )
    return builder.end(sdc_results())


def straggler_run(
    root: Path, run_id: str = "20261130-221700-straggler-compute-0003"
) -> RunDirectory:
    """rank1 loses 250 ms in a layer from step 4 on; named after two checks; passed."""
    builder = RunBuilder(root, scenario_of("straggler"), run_id)
    builder.start()
    for step in range(1, 13):
        builder.step(step)
        builder.beat(step, step)
        if step == 4:
            builder.write(
                "faults.rank1",
                ev.FaultInjected(
                    fault_id="straggler.compute-0", kind="straggler.compute",
                    label="Straggler: slow layer", color="#ff7f0e",
                    targets=("rank1",), step=4,
                    changes=(ev.Change(what="blocks.1.forward",
                                       before="not delayed", after="+0.25 s a pass"),),
                ),
            )  # fmt: skip
        if step % 2 == 0:
            builder.check(step, slow=1 if step >= 4 else None)
        if step == 6:
            builder.verdict(straggler_verdict())
    builder.write(
        "faults.rank1",
        ev.FaultHealed(fault_id="straggler.compute-0", kind="straggler.compute",
                       targets=("rank1",), step=12, changes=(), num_strikes=9),
    )  # fmt: skip
    incident = IncidentResult(
        kind=Kind.STRAGGLER, state=State.ATTRIBUTED, targets=("rank1",), from_step=4,
        by_step=10, found=True, verdict_id="scout-replicate-1", found_step=6,
        latency_s=0.7123, latency_steps=2,
    )  # fmt: skip
    fault = FaultResult(
        fault_id="straggler.compute-0", kind="straggler.compute",
        label="Straggler: slow layer", color="#ff7f0e", targets=("rank1",),
        injected=True, healed=True, step=4, injected_ns=None, healed_ns=None,
        num_strikes=9, changes=(), residue="", problem="",
    )  # fmt: skip
    return builder.end(
        results_of(Outcome.PASS, "found what was expected", (incident,), (fault,))
    )


def hang_run(
    root: Path, run_id: str = "20261130-221800-hang-frozen-0004"
) -> RunDirectory:
    """rank3 freezes in step 6; its observer's peers name it; failed on an extra."""
    builder = RunBuilder(root, scenario_of("hang"), run_id)
    builder.start()
    for step in range(1, 6):
        builder.step(step)
        builder.beat(step, step)
        if step % 2 == 0:
            builder.check(step)
    builder.now_s += 0.2
    builder.write(
        "faults.rank3",
        ev.FaultTriggered(fault_id="hang.frozen-0", kind="hang.frozen", step=6,
                          detail="forward of blocks.1"),
    )  # fmt: skip
    builder.write(
        "faults.harness",
        ev.FaultInjected(
            fault_id="hang.frozen-0", kind="hang.frozen", label="Hang: frozen process",
            color="#9467bd", targets=("rank3",), step=6,
            changes=(ev.Change(what="process state of rank3", before="running",
                               after="T (stopped)"),),
        ),
    )  # fmt: skip
    for beat in range(6, 10):
        builder.now_s += 1.0
        builder.beat(beat, 6, silent=3, silent_s=float(beat - 5))
    builder.verdict(hang_verdict(), source="observer0")
    builder.verdict(false_verdict(), source="observer2")
    builder.now_s += 1.0
    builder.write(
        "faults.harness",
        ev.FaultHealed(fault_id="hang.frozen-0", kind="hang.frozen",
                       targets=("rank3",), step=6, changes=(), num_strikes=1),
    )  # fmt: skip
    for step in range(6, 13):
        builder.step(step)
    incident = IncidentResult(
        kind=Kind.HANG, state=State.ATTRIBUTED, targets=("rank3",), from_step=6,
        by_step=7, found=True, verdict_id="hang-1", found_step=6, latency_s=4.01,
        latency_steps=0,
    )  # fmt: skip
    extra = ExtraVerdict(
        verdict_id="hang-2", kind=Kind.HANG, state=State.ATTRIBUTED, blamed=("rank0",),
        step=6, reason="rank0 was blamed as well",
    )  # fmt: skip
    fault = FaultResult(
        fault_id="hang.frozen-0", kind="hang.frozen", label="Hang: frozen process",
        color="#9467bd", targets=("rank3",), injected=True, healed=True, step=6,
        injected_ns=None, healed_ns=None, num_strikes=1, changes=(), residue="",
        problem="",
    )  # fmt: skip
    reason = "a verdict blames rank0, whom nobody expected"
    return builder.end(
        results_of(Outcome.FAIL, reason, (incident,), (fault,), (extra,))
    )


def killed_run(
    root: Path, run_id: str = "20261130-221900-sdc-parameter-0005"
) -> RunDirectory:
    """The sdc run, whose harness is gone after the verdict: no ended, no results."""
    return sdc_run(root, run_id, until="verdict")


def torn_run(root: Path, run_id: str = "20261130-222000-clean-0006") -> RunDirectory:
    """The clean run with a damaged line and a torn last line in rank1's file."""
    run = clean_run(root, run_id)
    path = run.events / "rank1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"seq": 3, "t_ns": "soon"}\n'
    path.write_bytes(b"".join(lines) + b'{"seq": 99, "t_ns": 12')
    return run


def sdc_injected() -> ev.FaultInjected:
    """Proof that the bit was flipped."""
    change = ev.Change(what="blocks.1.mlp.weight[77] bit 21", before="0x3d2f1a00",
                       after="0x3d0f1a00")  # fmt: skip
    return ev.FaultInjected(
        fault_id="sdc.parameter-0", kind="sdc.parameter",
        label="SDC: stuck parameter bit", color="#d62728", targets=("rank2",), step=5,
        changes=(change,),
    )  # fmt: skip


def sdc_healed() -> ev.FaultHealed:
    """Proof that it was given back."""
    return ev.FaultHealed(
        fault_id="sdc.parameter-0", kind="sdc.parameter", targets=("rank2",), step=8,
        changes=(), num_strikes=4,
    )  # fmt: skip


def sdc_verdict() -> Verdict:
    """rank2 is named by three of four."""
    return Verdict(
        verdict_id="scout-replicate-1", incident=1, kind=Kind.SDC,
        state=State.ATTRIBUTED, scope=Scope.RANK, reason_code="signature_differs",
        reason="the signature of hidden.parameters differs on rank2",
        action=Action.REPLACE_HOST, group=GROUP, group_ranks=(0, 1, 2, 3),
        blamed=("rank2",),
        statistic=Statistic(name="agreeing peers", value=3.0, threshold=None,
                            expression="k = 3 > n / 2 = 2", unit="peers"),
        votes=Votes(k=3, n=4), confirmations=Confirmations(seen=1, needed=1), step=6,
        surface="hidden.parameters", layer="blocks.2", replay_mode="broadcast",
        replay_shape=(4, 32, 64),
        bitmaps=(SurfaceBitmap(surface="hidden.parameters", status="attributed",
                               bitmap="0010"),),
        evidence=(EvidenceRef(source="rank0", seq=9),),
    )  # fmt: skip


def straggler_verdict() -> Verdict:
    """rank1 is named at its second boundary."""
    return Verdict(
        verdict_id="scout-replicate-1", incident=1, kind=Kind.STRAGGLER,
        state=State.ATTRIBUTED, scope=Scope.RANK, reason_code="slow_twice",
        reason="hidden.forward of rank1 took 262 ms, 3 of 4 peers took 12 ms",
        action=Action.REPLACE_HOST, group=GROUP, group_ranks=(0, 1, 2, 3),
        blamed=("rank1",), victims=("rank0", "rank2", "rank3"),
        statistic=Statistic(name="distance from the median", value=0.25014,
                            threshold=0.02, unit="s",
                            expression="max(kappa * scale, 0.5 * median, 0.02 s)"),
        votes=Votes(k=3, n=4), confirmations=Confirmations(seen=2, needed=2), step=6,
        surface="hidden.forward", layer="blocks.2",
    )  # fmt: skip


def hang_verdict() -> Verdict:
    """rank3 is named by the observers."""
    return Verdict(
        verdict_id="hang-1", incident=1, kind=Kind.HANG, state=State.ATTRIBUTED,
        scope=Scope.RANK, reason_code="rank_divergence",
        reason="rank3 stands in forward of blocks.1 while its peers wait for it",
        action=Action.RESTART_IN_PLACE, group=GROUP, group_ranks=(0, 1, 2, 3),
        blamed=("rank3",), victims=("rank0", "rank1", "rank2"),
        statistic=Statistic(name="silence", value=4.02, threshold=3.0, unit="s",
                            expression="silence > threshold of phase forward"),
        votes=Votes(k=3, n=4), step=6, phase="forward", layer="blocks.1",
        stall_s=4.02,
    )  # fmt: skip


def false_verdict() -> Verdict:
    """rank0 is blamed although it only waits: what `hang_run` fails for."""
    return Verdict(
        verdict_id="hang-2", incident=1, kind=Kind.HANG, state=State.ATTRIBUTED,
        scope=Scope.RANK, reason_code="rank_divergence",
        reason="rank0 was blamed as well", action=Action.RESTART_IN_PLACE,
        group=GROUP, group_ranks=(0, 1, 2, 3), blamed=("rank0",), step=6,
    )  # fmt: skip


def sdc_results() -> Results:
    """The sdc run's judgement."""
    incident = IncidentResult(
        kind=Kind.SDC, state=State.ATTRIBUTED, targets=("rank2",), from_step=5,
        by_step=8, found=True, verdict_id="scout-replicate-1", found_step=6,
        latency_s=0.3721, latency_steps=1,
    )  # fmt: skip
    fault = FaultResult(
        fault_id="sdc.parameter-0", kind="sdc.parameter",
        label="SDC: stuck parameter bit", color="#d62728", targets=("rank2",),
        injected=True, healed=True, step=5, injected_ns=None, healed_ns=None,
        num_strikes=4, changes=(), residue="", problem="",
    )  # fmt: skip
    return results_of(Outcome.PASS, "found what was expected", (incident,), (fault,))


def not_injected_results() -> Results:
    """A judgement of an sdc run whose fault never struck."""
    incident = IncidentResult(
        kind=Kind.SDC, state=State.ATTRIBUTED, targets=("rank2",), from_step=5,
        by_step=8, found=False, verdict_id=None, found_step=None, latency_s=None,
        latency_steps=None,
    )  # fmt: skip
    fault = FaultResult(
        fault_id="sdc.parameter-0", kind="sdc.parameter", label="", color="",
        targets=("rank2",), injected=False, healed=False, step=None, injected_ns=None,
        healed_ns=None, num_strikes=None, changes=(), residue="", problem="no such bit",
    )  # fmt: skip
    return results_of(
        Outcome.NOT_INJECTED, "the fault never struck", (incident,), (fault,)
    )


def results_of(
    outcome: Outcome,
    reason: str,
    incidents: tuple[IncidentResult, ...] = (),
    faults: tuple[FaultResult, ...] = (),
    extras: tuple[ExtraVerdict, ...] = (),
) -> Results:
    """results.json of a run of twelve steps."""
    return Results(
        outcome=outcome, reason=reason, incidents=incidents, extras=extras,
        faults=faults, problems=(), steps_done=(12,) * NUM_RANKS, num_checks=6,
        num_verdicts=len(incidents) + len(extras), wall_s=9.5, first_step_s=2.1,
    )  # fmt: skip


def _surface_names() -> list[tuple[str, str]]:
    names = [
        ("embedding", "embedding.parameters"),
        ("embedding", "embedding.output[x1]"),
    ]
    for recipe in ("hidden", "lm_head"):
        names.append((recipe, f"{recipe}.parameters"))
        names += [
            (recipe, f"{recipe}.{what}[{variant}]")
            for variant in VARIANTS
            for what in ("output", "input_grad", "param_grad")
        ]
    parts = ("parameters", "gradients", "slots", "configuration")
    return names + [("optimizer", f"optimizer.{part}") for part in parts]


def _is_touched(recipe: str, name: str) -> bool:
    return recipe == "hidden" or name == "optimizer.parameters"


def _surface(
    name: str, recipe: str, layer: str | None, number: int, corrupt: int | None,
    missing: tuple[int, ...],
) -> ev.SurfaceEvidence:  # fmt: skip
    mixed = sum(name.encode()) * 0x9E3779B97F4A7C15 + number * 0xBF58476D1CE4E5B9
    healthy = f"{mixed % (1 << 64):016x}"
    values: list[str | None] = [healthy] * NUM_RANKS
    bits = ["0"] * NUM_RANKS
    if corrupt is not None:
        values[corrupt], bits[corrupt] = f"{int(healthy, 16) ^ (1 << 21):016x}", "1"
    for rank in missing:
        values[rank], bits[rank] = None, "?"
    status = (
        "attributed" if corrupt is not None else "incomplete" if missing else "agree"
    )
    k = sum(value == healthy for value in values)
    return ev.SurfaceEvidence(
        surface=name, recipe=recipe, layer=layer, values=tuple(values), status=status,
        bitmap="".join(bits), k=k, n=NUM_RANKS,
    )  # fmt: skip


def _timings(
    layer: str, slow: int | None, missing: tuple[int, ...]
) -> tuple[ev.TimingEvidence, ...]:
    found = []
    for recipe in ("embedding", "hidden", "lm_head", "optimizer"):
        for part in ("forward", "backward"):
            late = slow if (recipe, part) == ("hidden", "forward") else None
            found.append(_timing(f"{recipe}.{part}", recipe, layer, late, missing))
    return tuple(found)


def _timing(
    surface: str, recipe: str, layer: str, slow: int | None, missing: tuple[int, ...]
) -> ev.TimingEvidence:
    wall: list[float | None] = [0.0120, 0.0123, 0.0119, 0.0121]
    bits = ["0"] * NUM_RANKS
    distance = 0.0002
    if slow is not None:
        wall[slow], bits[slow], distance = 0.2622, "1", 0.25015
    for rank in missing:
        wall[rank], bits[rank] = None, "?"
    on_cpu = tuple(None if w is None else min(w, 0.012) for w in wall)
    wait = tuple(None if w is None else 0.0002 for w in wall)
    return ev.TimingEvidence(
        surface=surface, recipe=recipe, layer=layer if recipe == "hidden" else None,
        wall_s=tuple(wall), on_cpu_s=on_cpu, run_wait_s=wait,
        status="attributed" if slow is not None else "agree", bitmap="".join(bits),
        statistic=Statistic(name="distance from the median", value=distance,
                            threshold=0.02, unit="s",
                            expression="max(kappa * scale, 0.5 * median, 0.02 s)"),
    )  # fmt: skip


def append(run: RunDirectory, source: str, event: ev.Event) -> None:
    """One more event in a file, by a new writer, as after a restart."""
    with EventWriter(run.events, source) as writer:
        writer.write(event)
