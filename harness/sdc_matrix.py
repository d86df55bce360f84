"""SCOUT's numerical matrix: 344 wrong values and 30 clean runs (SCOUT sec. 10.2). Pure.

    seed ─► 344 cases ─► 8 jobs of 43, each one scenario ─► a campaign's plan
                         30 clean jobs

A job carries many faults, one after the other. Each case follows the paper's protocol:

    clean checks │ the fault strikes in its window │ healed and undone │ clean checks
                   every check may name its rank     nothing may be named

Values in passing (activations and local gradients) are wrong in replays only, as in the
paper, for one rotation of the replayed layer. What is stored (parameters, reduced
gradients, optimizer slots) is wrong for one step, and every rank then goes back to the
state of before (`injectors.rewind`), so that each case begins from a healthy job.

Called by the `matrix` command and by `harness.ablations`; `harness.sdc_score` says what
came of each case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.campaign import Campaign, Case, Part, Plan
from harness.scenario import Scenario, from_data, to_yaml

NUM_RANKS = 4
NUM_LAYERS = 3
"""The Transformer of SCOUT sec. 10.1; one of its blocks is replayed in each check."""

NUM_JOBS = 8
NUM_CLEAN = 30
NUM_CASES = 344
NUM_NEAR_INVISIBLE = 64
_LEAD = 4  # healthy steps first: the optimizer has slots, every layer was checked
_CLEAN_CHECKS = NUM_LAYERS  # each layer once: incidents close, residue would show
_CLEAN_STEPS = 12

NEAR_INVISIBLE = "1 ulp"
_WEIGHTS = tuple(
    f"blocks.{block}.{name}.weight"
    for block in range(NUM_LAYERS)
    for name in ("attention.qkv", "attention.out", "mlp.0", "mlp.2")
)
_MODULES = ("tokens", "blocks.0", "blocks.1", "blocks.2", "head")
"""What replays call. One ulp deeper inside is mostly rounded away on its way out."""

Fields = dict[str, Any]
PATTERNS: dict[str, Fields] = {
    "low bit": {"pattern": "flip", "stuck_bit": 8},
    "middle bit": {"pattern": "flip", "stuck_bit": 21},
    "exponent bit": {"pattern": "flip", "stuck_bit": 30},
    "sign bit": {"pattern": "flip", "stuck_bit": 31},
    "stuck bit": {
        "pattern": "stuck", "stuck_bit": 20, "extent": "fraction", "fraction": 0.05,
    },
    "three bits": {"pattern": "flip", "stuck_bit": 3, "more_bits": [11, 19]},
    "periodic bit": {
        "pattern": "flip", "stuck_bit": 12, "extent": "periodic", "period": 64,
    },
    "1 % too large": {"pattern": "scale", "factor": 1.01, "extent": "row"},
    "times 1.5": {
        "pattern": "scale", "factor": 1.5, "extent": "fraction", "fraction": 0.1,
    },
    "negated row": {"pattern": "sign", "extent": "row"},
    "noise of 1 %": {
        "pattern": "noise", "factor": 0.01, "extent": "fraction", "fraction": 0.2,
    },
    "set to 1000": {"pattern": "set", "value": 1000.0},
    "NaN": {"pattern": "nan"},
    "infinity": {"pattern": "inf"},
}  # fmt: skip
"""What becomes of the values, from a low bit to infinity; the name is the magnitude."""

_BESIDE: Fields = {"passes": "beside_training"}
_ONE_ULP: Fields = {"pattern": "flip", "stuck_bit": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCase:
    """One wrong value: where in training, what becomes of it, in which rank."""

    number: int
    surface: str  # such as `parameter`
    magnitude: str  # a name of PATTERNS, or NEAR_INVISIBLE
    rank: int
    fields: Fields  # of the fault, without rank and steps

    @property
    def fault_id(self) -> str:
        """Name of its fault in events."""
        return f"case{self.number}"

    @property
    def is_in_passing(self) -> bool:
        """Whether it strikes replays only, and waits for its layer to be replayed."""
        return "passes" in self.fields

    @property
    def num_steps(self) -> int:
        """Steps of its window, and so checks that may meet it."""
        return NUM_LAYERS if self.is_in_passing else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A case in its job, with the steps (from 1) of its window."""

    case: MatrixCase
    job: int
    at_step: int
    until_step: int


def matrix_cases(seed: int) -> tuple[MatrixCase, ...]:
    """All cases; the seed draws who is struck and in which order they come.

    Elements, rows and parameters that a fault leaves open are drawn by the injector.
    """
    rng = Random(f"sdc-matrix/{seed}")
    rows = list(_rows())
    rng.shuffle(rows)
    return tuple(
        MatrixCase(
            number=number,
            surface=surface,
            magnitude=magnitude,
            rank=rng.randrange(NUM_RANKS),
            fields=fields,
        )
        for number, (surface, magnitude, fields) in enumerate(rows)
    )


def placed(seed: int, num_cases: int = NUM_CASES) -> tuple[Placed, ...]:
    """The first `num_cases` cases, 43 in each job."""
    found: list[Placed] = []
    per_job = NUM_CASES // NUM_JOBS
    step, job = 0, -1
    for place, case in enumerate(matrix_cases(seed)[:num_cases]):
        if place // per_job != job:
            job, step = place // per_job, _LEAD
        until = step + case.num_steps
        found.append(Placed(case=case, job=job, at_step=step + 1, until_step=until))
        step = until + _CLEAN_CHECKS
    return tuple(found)


def matrix_plan(
    seed: int, *, num_cases: int = NUM_CASES, num_clean: int = NUM_CLEAN,
    settings: Fields | None = None,
) -> Plan:  # fmt: skip
    """The matrix as a campaign: part `faulty`, then part `clean`.

    Args:
        settings: of SCOUT, beside those of the matrix: how ablations switch parts off.
    """
    there = placed(seed, num_cases)
    cases = [
        *(_faulty(job, [p for p in there if p.job == job], seed, settings or {})
          for job in sorted({p.job for p in there})),
        *(_clean(number, seed, settings or {}) for number in range(num_clean)),
    ]  # fmt: skip
    parts = [
        Part(name=name, scenarios=("made",), seeds=(seed,))
        for name in dict.fromkeys(case.part for case in cases)
    ]
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.case_id}\n{to_yaml(case.scenario)}\n".encode())
    return Plan(
        campaign=Campaign(title="SCOUT's numerical matrix", parts=tuple(parts)),
        cases=tuple(cases),
        digest=digest.hexdigest()[:16],
    )


def _rows() -> Iterator[tuple[str, str, Fields]]:
    """(surface, magnitude, fields of the fault), 344 of them; 64 near-invisible."""
    for turn in range(NUM_NEAR_INVISIBLE // 2):
        weight = _WEIGHTS[turn % len(_WEIGHTS)]
        module = _MODULES[turn % len(_MODULES)]
        yield "parameter", NEAR_INVISIBLE, _parameter(weight, _ONE_ULP)
        yield "forward output", NEAR_INVISIBLE, _output(module, "forward", _ONE_ULP)
    for name, pattern in PATTERNS.items():
        for weight in ("tokens.weight", "head.weight", *_WEIGHTS[::2]):
            yield "parameter", name, _parameter(weight, pattern)
        for module in _MODULES:
            yield "forward output", name, _output(module, "forward", pattern)
        for module in ("blocks.1", "head"):
            yield "backward gradient", name, _output(module, "backward", pattern)
        for weight in _WEIGHTS[2:8:5]:
            yield "local gradient", name, _gradient(weight, "before", pattern)
        for weight in _WEIGHTS[6::5]:
            yield "reduced gradient", name, _gradient(weight, "after", pattern)
        yield "optimizer slot", name, {
            "kind": "sdc.optimizer_state", "parameter": _WEIGHTS[9],
            "slot": "exp_avg", **pattern,
        }  # fmt: skip


def _parameter(weight: str, pattern: Fields) -> Fields:
    return {"kind": "sdc.parameter", "parameter": weight, **pattern}


def _output(module: str, where: str, pattern: Fields) -> Fields:
    return {"kind": "sdc.activation", "module": module, "where": where, **_BESIDE,
            **pattern}  # fmt: skip


def _gradient(weight: str, where: str, pattern: Fields) -> Fields:
    beside = _BESIDE if where == "before" else {}
    return {"kind": "sdc.gradient", "parameter": weight, "where": where, **beside,
            **pattern}  # fmt: skip


def _faulty(job: int, there: list[Placed], seed: int, settings: Fields) -> Case:
    faults = [
        {**p.case.fields, "id": p.case.fault_id, "rank": p.case.rank, "undo": True,
         "at_step": p.at_step, "until_step": p.until_step}
        for p in there
    ]  # fmt: skip
    expect = [
        {"kind": "sdc", "ranks": [p.case.rank],
         "from_step": p.at_step, "by_step": p.until_step}
        for p in there
    ]  # fmt: skip
    scenario = _job(
        f"Matrix job {job}", seed * 1000 + job, there[-1].until_step + _CLEAN_CHECKS,
        settings, faults=faults, expect=expect,
    )  # fmt: skip
    return _case(f"job{job}", "faulty", scenario)


def _clean(number: int, seed: int, settings: Fields) -> Case:
    scenario = _job(
        f"Matrix, clean {number}", seed * 1000 + 500 + number, _CLEAN_STEPS, settings,
        faults=[], expect=[],
    )  # fmt: skip
    return _case(f"clean{number}", "clean", scenario)


def _job(title: str, seed: int, steps: int, settings: Fields, **more: Any) -> Scenario:
    return from_data(
        {
            "title": title,
            "seed": seed,
            "steps": steps,
            "workload": {
                "parallel": {"replicate": NUM_RANKS},
                "num_layers": NUM_LAYERS,
            },
            # A check in each step; its slice holds the whole model.
            "scout": {
                "replay_every": 1,
                "close_after": 1,
                "slice_elements": 1_000_000,
                "silence_s": 30,
                **settings,
            },
            **more,
        }
    )


def _case(name: str, part: str, scenario: Scenario) -> Case:
    return Case(
        case_id=f"{part}/{name}",
        part=part,
        scenario_name=f"matrix-{name}",
        scenario=scenario,
        is_control=part == "clean",
    )
