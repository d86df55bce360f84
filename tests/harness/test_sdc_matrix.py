"""The numerical matrix: cases, jobs, score, and what ablations make of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from harness.ablations import (
    ablation_plan,
    by_live_state,
    by_majority,
    by_source,
    run_arm,
)
from harness.cli import main
from harness.results import (
    ExtraVerdict,
    FaultResult,
    IncidentResult,
    Outcome,
    Results,
)
from harness.scenario import from_data
from harness.sdc_matrix import (
    NEAR_INVISIBLE,
    NUM_LAYERS,
    PATTERNS,
    Placed,
    matrix_cases,
    matrix_plan,
    placed,
)
from harness.sdc_score import Fate, Finished, score_matrix
from tests.run_builder import RunBuilder
from vocab.events import CheckCompleted, SurfaceEvidence
from vocab.names import rank_name
from vocab.verdict import Kind, State


def test_there_are_344_cases_of_which_64_are_near_invisible_and_30_clean_jobs() -> None:
    cases = matrix_cases(1)
    assert len(cases) == len({case.number for case in cases}) == 344
    assert sum(case.magnitude == NEAR_INVISIBLE for case in cases) == 64
    assert {case.magnitude for case in cases} == {NEAR_INVISIBLE, *PATTERNS}
    plan = matrix_plan(1)
    assert Counter(case.part for case in plan.cases) == {"faulty": 8, "clean": 30}
    assert sum(len(case.scenario.faults) for case in plan.cases) == 344


def test_the_seed_draws_ranks_and_order_but_not_what_is_tested() -> None:
    def content(seed: int) -> list[str]:
        return sorted(json.dumps(case.fields) for case in matrix_cases(seed))

    assert matrix_cases(1) == matrix_cases(1)
    assert content(1) == content(2)
    assert matrix_plan(1).digest != matrix_plan(2).digest
    assert {case.rank for case in matrix_cases(2)} == {0, 1, 2, 3}


def test_every_case_has_clean_checks_of_every_layer_before_and_after() -> None:
    there = placed(3)
    for one, other in zip(there, there[1:], strict=False):
        if one.job == other.job:
            assert other.at_step - one.until_step > NUM_LAYERS
    steps = {p.job: p.until_step for p in there}
    plan = matrix_plan(3)
    for job, case in enumerate(plan.cases[: len(steps)]):
        assert case.scenario.steps >= steps[job] + NUM_LAYERS


def check(
    values: str, bitmap: str, source: int, recipe: str = "hidden"
) -> CheckCompleted:
    surface = SurfaceEvidence(
        surface=f"{recipe}.output", recipe=recipe, layer="blocks.0",
        values=tuple(values), status="attributed" if "1" in bitmap else "healthy",
        bitmap=bitmap, k=bitmap.count("0"), n=len(bitmap),
    )  # fmt: skip
    return CheckCompleted(
        check=0, step=1, group="dp", group_ranks=(4, 5, 6, 7), recipes=(recipe,),
        layer="blocks.0", source_rank=source, missing=(), surfaces=(surface,),
        timings=(), variants=(1.0,), replay_mode="ddp", replay_shape=None,
        duration_s=0.1,
    )  # fmt: skip


# --- score --------------------------------------------------------------------------

THERE = placed(1, 3)


def fault(p: Placed, *, injected: bool = True) -> FaultResult:
    return FaultResult(
        fault_id=p.case.fault_id, kind="sdc.parameter", label="", color="",
        targets=(rank_name(p.case.rank),), injected=injected, healed=True,
        step=p.at_step, injected_ns=1, healed_ns=2, num_strikes=1, changes=(),
        residue="", problem="" if injected else "no such element",
    )  # fmt: skip


def incident(p: Placed, *, found: bool = True) -> IncidentResult:
    return IncidentResult(
        kind=Kind.SDC, state=State.ATTRIBUTED, targets=(rank_name(p.case.rank),),
        from_step=p.at_step, by_step=p.until_step, found=found, verdict_id=None,
        found_step=None, latency_s=None, latency_steps=None,
    )  # fmt: skip


def blame(step: int) -> ExtraVerdict:
    return ExtraVerdict(
        verdict_id="v", kind=Kind.SDC, state=State.ATTRIBUTED, blamed=("rank9",),
        step=step, reason="",
    )  # fmt: skip


JOB = Results(
    outcome=Outcome.PASS, reason="", incidents=tuple(map(incident, THERE)), extras=(),
    faults=tuple(map(fault, THERE)), problems=(), steps_done=(9,) * 4, num_checks=9,
    num_verdicts=3, wall_s=1.0, first_step_s=1.0,
)  # fmt: skip


def checked(step: int, bitmap: str = "0000") -> CheckCompleted:
    """A check of a job of four ranks; 1 marks who disagrees."""
    status = "attributed" if "1" in bitmap else "agree"
    found = check("aaaa", bitmap, source=4)
    surfaces = tuple(replace(s, status=status) for s in found.surfaces)
    return replace(found, step=step, group_ranks=(0, 1, 2, 3), surfaces=surfaces)


CHECKS = tuple(checked(step) for step in range(1, THERE[-1].until_step + 3))


def finished(
    job: Results, checks: tuple[CheckCompleted, ...] = CHECKS
) -> dict[int, Finished]:
    return {0: Finished(run_id="r", results=job, checks=checks)}


def fates(
    job: Results | None, checks: tuple[CheckCompleted, ...] = CHECKS
) -> list[Fate]:
    jobs = {} if job is None else finished(job, checks)
    return [case.fate for case in score_matrix(THERE, jobs, [JOB]).cases]


def with_check(other: CheckCompleted) -> tuple[CheckCompleted, ...]:
    return tuple(other if one.step == other.step else one for one in CHECKS)


def test_five_fates_are_told_apart() -> None:
    named = [Fate.NAMED] * 3
    assert fates(JOB) == named
    assert fates(None) == [Fate.NOT_RUN] * 3
    missed = replace(
        JOB, incidents=(incident(THERE[0], found=False), *JOB.incidents[1:])
    )
    assert fates(missed) == [Fate.MISSED, *named[1:]]
    silent = replace(JOB, faults=(fault(THERE[0], injected=False), *JOB.faults[1:]))
    assert fates(silent) == [Fate.NOT_INJECTED, *named[1:]]
    for step in (THERE[1].at_step, THERE[1].until_step + 1):
        wrong = replace(JOB, extras=(blame(step),))
        assert fates(wrong) == [Fate.NAMED, Fate.WRONG, Fate.NAMED]


def test_a_case_is_wrong_where_a_clean_check_after_it_is_not_silent() -> None:
    first = THERE[0]
    mark = ["0"] * 4
    mark[first.case.rank] = "1"
    own, other = "".join(mark), "".join("1" if m == "0" else "0" for m in mark)
    named = [Fate.NAMED] * 3
    assert fates(JOB, with_check(checked(first.at_step, own))) == named
    assert fates(JOB, with_check(checked(first.at_step, other)))[0] is Fate.WRONG
    stays = with_check(checked(first.until_step + 1, own))
    assert fates(JOB, stays) == [Fate.WRONG, *named[1:]]
    score = score_matrix(THERE, finished(JOB, stays), [JOB])
    assert (score.silent.n - score.silent.k, score.exit_code) == (1, 1)


def test_a_case_whose_healing_no_check_shows_was_not_measured() -> None:
    first = THERE[0]
    broken = replace(checked(first.until_step + 1), problem="peers are elsewhere")
    assert fates(JOB, with_check(broken)) == [Fate.NOT_RUN, Fate.NAMED, Fate.NAMED]
    assert fates(JOB, CHECKS[: THERE[-1].until_step])[-1] is Fate.NOT_RUN


def test_the_exit_code_says_wrong_before_unmeasured() -> None:
    def code(job: Results, *clean: Results | None) -> int:
        return score_matrix(THERE, finished(job), clean).exit_code

    assert code(JOB, JOB) == 0
    assert code(JOB, JOB, None) == 2
    assert code(JOB, JOB, replace(JOB, outcome=Outcome.FAIL)) == 1
    assert code(replace(JOB, extras=(blame(1),)), JOB) == 1
    silent = replace(JOB, faults=(fault(THERE[0], injected=False), *JOB.faults[1:]))
    assert code(silent, JOB) == 2


# --- ablations ----------------------------------------------------------------------


def test_one_reference_blames_everybody_else_where_the_reference_is_wrong() -> None:
    healthy_source = check("aaba", "0010", source=4)
    assert by_majority(healthy_source) == by_source(healthy_source) == {6}
    faulty_source = check("aaba", "0010", source=6)
    assert by_majority(faulty_source) == {6}
    assert by_source(faulty_source) == {4, 5, 7}


def test_live_state_alone_sees_nothing_that_only_a_replay_computes() -> None:
    def seen(surface: str) -> frozenset[int]:
        found = check("aaba", "0010", source=4)
        (only,) = found.surfaces
        return by_live_state(replace(found, surfaces=(replace(only, surface=surface),)))

    computed = ("hidden.output[x1]", "hidden.param_grad[x10]", "optimizer.rerun")
    held = ("hidden.parameters", "optimizer.gradient", "optimizer.slots")
    assert [seen(name) for name in computed] == [set()] * 3
    assert [seen(name) for name in held] == [{6}] * 3


def test_a_fault_that_never_struck_is_not_missed(tmp_path: Path) -> None:
    def counts(outcome: Outcome) -> tuple[int, int, int]:
        data = {
            "title": "t",
            "workload": {"parallel": {"replicate": 4}},
            "expect": [{"kind": "sdc", "ranks": [1], "from_step": 1, "by_step": 2}],
        }
        name = f"20261201-120000-quiet-{outcome.value[:4]}"
        builder = RunBuilder(tmp_path, from_data(data), name)
        builder.run.write_results(replace(JOB, outcome=outcome))
        arm = run_arm("x", "y", [builder.run], kind=Kind.SDC)
        return arm.num_right, arm.num_missed, arm.num_unmet

    assert counts(Outcome.FAIL) == (0, 1, 0)
    assert counts(Outcome.NOT_INJECTED) == (0, 0, 1)


def test_every_ablation_has_its_runs() -> None:
    plan = ablation_plan(1)
    parts = Counter(case.part for case in plan.cases)
    assert set(parts) == {"fixed", "hangs", "unobserved", "timing", "values",
                          "one-value", "sources", "one-source"}  # fmt: skip
    assert parts["fixed"] == 8
    scouts = {case.part: case.scenario.scout for case in plan.cases}
    assert scouts["fixed"].rotate_source is False  # type: ignore[union-attr]
    assert scouts["one-source"].rotate_source is False  # type: ignore[union-attr]
    assert scouts["unobserved"].observer is False  # type: ignore[union-attr]
    assert scouts["one-value"].variants == (1.0,)  # type: ignore[union-attr]


@pytest.mark.jobs
def test_a_small_matrix_names_every_rank_and_runs_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["matrix", "sdc", "--cases", "4", "--clean", "1", "--json", "--out",
               str(tmp_path)]  # fmt: skip
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    total = first["surfaces"][-1]
    assert (total["name"], total["named"]["k"], total["named"]["n"]) == ("all", 4, 4)
    assert (first["clean"]["k"], first["clean"]["n"]) == (1, 1)
    runs = sorted(tmp_path.glob("*/runs/*"))
    assert main(command) == 0
    capsys.readouterr()
    assert sorted(tmp_path.glob("*/runs/*")) == runs
    assert (tmp_path / "matrix.csv").read_text().count("\n") == 5
    assert (tmp_path / "matrix.svg").read_bytes().startswith(b"<?xml")
