"""What each part of SCOUT buys: the same cases without it (SCOUT sec. 11).

    part           how it is switched off               on which cases
    majority       peers are compared with the source   matrix, same evidence
    replay         only live state is compared          matrix, same evidence
    fixed source   `rotate_source: false`               matrix, run again; faults that
                                                        only one rank's data meet
    variants       `variants: [1.0]`                    run again, on large values
    confirmation   `confirmations: 1`                   slow ranks, same evidence
    observer       `observer: false`                    hangs, run again

Called by `faultyard matrix ablations`. Where the stored evidence holds what the ablated
decider needs it is decided again; else the jobs run again. A case is right where
exactly the expected ranks are named, missed where nobody is, wrong where others are.
A fault that nothing brought to strike was never met, which is not the same as missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from harness.analyze import evidence_of, recompute
from harness.campaign import Campaign, Case, Part, Plan
from harness.matching import effective
from harness.results import Outcome
from harness.scenario import Scenario, catalogue, from_data, load, to_yaml
from harness.sdc_matrix import NUM_CASES, Placed, matrix_plan, placed
from harness.store import RunDirectory
from scout.config import ScoutConfig
from vocab.events import CheckCompleted
from vocab.intervals import Rate, wilson
from vocab.names import rank_name
from vocab.verdict import Kind, Verdict

HANGS = ("hang-frozen-forward", "hang-frozen-backward", "hang-frozen-optimizer",
         "hang-input", "hang-deadlock")  # fmt: skip
SLOW = ("straggler-forward", "straggler-backward", "straggler-throttle")
ONE_SOURCE = "sdc-data-of-one-rank"
CALM = ("clean", "control-imbalance", "control-busy-neighbour")
SEEDS = (1, 2, 3)

_HELD = ("parameters", "config", "gradient", "slots", "weights")
"""Surfaces that compare what training left, without any re-run (`scout.replay`,
`scout.optimizer_evidence`)."""

Rule = Callable[[CheckCompleted], frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One row of the result: a set of cases, decided in one way."""

    part: str  # the part that is in question
    is_whole: bool  # True: nothing is switched off
    cases: str  # which cases, in words
    num_cases: int
    num_right: int
    num_missed: int
    num_unmet: int  # the fault never struck: nothing that ran brought what it needs
    num_wrong: int
    num_clean: int  # checks between the faults, or runs without a culprit
    num_false: int  # of them, those in which somebody was blamed
    right: Rate  # of all its cases


# --- rules on one check's evidence --------------------------------------------------


def by_majority(check: CheckCompleted) -> frozenset[int]:
    """Ranks that C3 named in this check (SCOUT Alg. 1)."""
    return frozenset(
        check.group_ranks[peer]
        for surface in check.surfaces
        if surface.status == "attributed"
        for peer, bit in enumerate(surface.bitmap)
        if bit == "1"
    )


def by_source(check: CheckCompleted) -> frozenset[int]:
    """No majority: every peer that differs from the source of the replayed inputs.

    What a comparison with one reference, such as rank 0 or a golden replica, does.
    """
    if check.source_rank not in check.group_ranks:
        return frozenset()
    reference = check.group_ranks.index(check.source_rank)
    return frozenset(
        check.group_ranks[peer]
        for surface in check.surfaces
        for peer, value in enumerate(surface.values)
        if value is not None and value != surface.values[reference]
    )


def by_live_state(check: CheckCompleted) -> frozenset[int]:
    """No replay: the majority's word on what peers hold, none on what they compute.

    What is left is a checksum of weights, reduced gradients and optimizer slots.
    """
    held = (s for s in check.surfaces if s.surface.partition(".")[2] in _HELD)
    return by_majority(replace(check, surfaces=tuple(held)))


# --- arms ---------------------------------------------------------------------------


def matrix_arm(
    part: str, rule: Rule, jobs: Sequence[tuple[RunDirectory, Sequence[Placed]]],
    *, is_whole: bool = False,
) -> Arm:  # fmt: skip
    """The numerical matrix, decided check by check by a rule."""
    right = missed = wrong = 0
    clean: list[bool] = []
    for run, there in jobs:
        checks = [
            stamped.event
            for stamped in evidence_of(run)
            if isinstance(stamped.event, CheckCompleted)
        ]
        named = {check.step: rule(check) for check in checks}
        windows: set[int] = set()
        for case in there:
            steps = range(case.at_step, case.until_step + 1)
            windows.update(steps)
            found = frozenset().union(*(named.get(s, frozenset()) for s in steps))
            right += found == {case.case.rank}
            missed += not found
            wrong += bool(found - {case.case.rank})
        clean += [bool(who) for step, who in named.items() if step not in windows]
    return Arm(
        part=part, is_whole=is_whole, cases="numerical matrix",
        num_cases=sum(len(there) for _, there in jobs), num_right=right,
        num_missed=missed, num_unmet=0, num_wrong=wrong,
        num_clean=len(clean), num_false=sum(clean),
        right=wilson(right, sum(len(there) for _, there in jobs)),
    )  # fmt: skip


def run_arm(
    part: str, cases: str, runs: Sequence[RunDirectory], *, kind: Kind,
    change: Callable[[ScoutConfig], ScoutConfig] | None = None, is_whole: bool = False,
) -> Arm:  # fmt: skip
    """Whole runs: the verdicts of `kind` beside what their scenarios expect.

    Args:
        change: of the settings with which the stored evidence is decided again.
    """
    right = missed = unmet = wrong = faulty = 0
    clean: list[bool] = []
    for run in runs:
        scenario = run.scenario()
        wanted = frozenset(rank_name(r) for e in scenario.expect for r in e.ranks)
        found = _blamed(_verdicts(run, scenario, change), kind)
        if not wanted:
            clean.append(bool(found))
            continue
        faulty += 1
        right += found == wanted
        is_unmet = _never_struck(run)
        unmet += not found and is_unmet
        missed += not found and not is_unmet
        wrong += bool(found - wanted)
    return Arm(
        part=part, is_whole=is_whole, cases=cases, num_cases=faulty, num_right=right,
        num_missed=missed, num_unmet=unmet, num_wrong=wrong,
        num_clean=len(clean), num_false=sum(clean),
        right=wilson(right, faulty),
    )  # fmt: skip


def _never_struck(run: RunDirectory) -> bool:
    results = run.results()
    return results is not None and results.outcome is Outcome.NOT_INJECTED


def _verdicts(
    run: RunDirectory, scenario: Scenario,
    change: Callable[[ScoutConfig], ScoutConfig] | None,
) -> tuple[Verdict, ...]:  # fmt: skip
    if scenario.scout == "off":
        return ()
    return recompute(run, None if change is None else change(scenario.scout))


def _blamed(verdicts: Iterable[Verdict], kind: Kind) -> frozenset[str]:
    return frozenset(
        name for v in effective(list(verdicts)) if v.kind is kind for name in v.blamed
    )


# --- what has to run ----------------------------------------------------------------


def ablation_plan(seed: int, *, num_cases: int = NUM_CASES) -> Plan:
    """Every job that cannot be decided again from the matrix's own evidence."""
    again = matrix_plan(
        seed, num_cases=num_cases, num_clean=0, settings={"rotate_source": False}
    )
    cases = [replace(c, case_id=f"fixed/{c.case_id}", part="fixed")
             for c in again.cases]  # fmt: skip
    for name in HANGS:
        cases.append(_case("hangs", name, 1))
        cases.append(_case("unobserved", name, 1, "scout.observer=false"))
    for name in (*SLOW, *CALM):
        cases += [_case("timing", name, number) for number in SEEDS]
    cases += [_hiccup(number) for number in SEEDS]
    values = "sdc-data-dependent"
    cases += [_case("values", values, number) for number in SEEDS]
    cases += [_case("one-value", values, n, "scout.variants=[1.0]") for n in SEEDS]
    cases += [_case("sources", ONE_SOURCE, number) for number in SEEDS]
    cases += [_case("one-source", ONE_SOURCE, n, "scout.rotate_source=false")
              for n in SEEDS]  # fmt: skip
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.case_id}\n{to_yaml(case.scenario)}\n".encode())
    parts = [Part(name=name, scenarios=("made",), seeds=(seed,))
             for name in dict.fromkeys(case.part for case in cases)]  # fmt: skip
    return Plan(
        campaign=Campaign(title="Ablations", parts=tuple(parts)),
        cases=tuple(cases),
        digest=digest.hexdigest()[:16],
    )


def arms(
    seed: int,
    matrix: Sequence[RunDirectory],
    parts: dict[str, list[RunDirectory]],
    *,
    num_cases: int = NUM_CASES,
) -> tuple[Arm, ...]:
    """All rows.

    Args:
        matrix: the faulty jobs of the numerical matrix, in their order.
        parts: the runs of `ablation_plan` by part, in their order.
    """
    there = placed(seed, num_cases)
    numbers = sorted({p.job for p in there})
    by_job = [[p for p in there if p.job == number] for number in numbers]
    jobs = list(zip(matrix, by_job, strict=True))
    fixed = list(zip(parts["fixed"], by_job, strict=True))
    timed, hangs = "slow ranks, calm and hiccup runs", "hangs"
    return (
        matrix_arm("majority", by_majority, jobs, is_whole=True),
        matrix_arm("majority", by_source, jobs),
        matrix_arm("replay", by_majority, jobs, is_whole=True),
        matrix_arm("replay", by_live_state, jobs),
        matrix_arm("rotating source", by_majority, jobs, is_whole=True),
        matrix_arm("rotating source", by_majority, fixed),
        run_arm("rotating source", "faults of one rank's data", parts["sources"],
                kind=Kind.SDC, is_whole=True),
        run_arm("rotating source", "faults of one rank's data", parts["one-source"],
                kind=Kind.SDC),
        run_arm("value variants", "faults of large values", parts["values"],
                kind=Kind.SDC, is_whole=True),
        run_arm("value variants", "faults of large values", parts["one-value"],
                kind=Kind.SDC),
        run_arm("confirmation", timed, parts["timing"], kind=Kind.STRAGGLER,
                is_whole=True),
        run_arm("confirmation", timed, parts["timing"], kind=Kind.STRAGGLER,
                change=lambda config: replace(config, confirmations=1)),
        run_arm("observer", hangs, parts["hangs"], kind=Kind.HANG, is_whole=True),
        run_arm("observer", hangs, parts["unobserved"], kind=Kind.HANG),
    )  # fmt: skip


def _case(part: str, name: str, seed: int, *settings: str) -> Case:
    scenario = load(catalogue()[name], settings=settings)
    return _named(part, name, scenario.model_copy(update={"seed": seed}))


def _hiccup(seed: int) -> Case:
    """One rank is slow in one check and never again: nobody is to be blamed."""
    scenario = from_data(
        {
            "title": "One slow check",
            "seed": seed,
            "steps": 16,
            "workload": {"parallel": {"replicate": 4}},
            "scout": {"replay_every": 2, "silence_s": 20},
            "faults": [
                {
                    "kind": "straggler.compute",
                    "rank": seed % 4,
                    "at_step": 6,
                    "until_step": 8,
                    "delay_s": 0.25,
                    "layer": 0,
                }
            ],
            "expect": [],
        }
    )
    return _named("timing", "hiccup", scenario)


def _named(part: str, name: str, scenario: Scenario) -> Case:
    return Case(
        case_id=f"{part}/{name}/s{scenario.seed}",
        part=part,
        scenario_name=name,
        scenario=scenario,
        is_control=not scenario.expect,
    )
