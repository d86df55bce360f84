"""A campaign: many runs of scenarios, as one file (DESIGN sec. 9, issue 3).

    parts x scenarios x variants x parameters x seeds ─► cases, each a whole scenario
    controls (nobody may be blamed) ─► the same; criteria ─► what must be reached

Called by the `campaign` command, and by `qualify`, for which controls and criteria are
mandatory. YAML is read like a scenario's: unknown keys are
rejected, and a flaw names file, line, field and what is allowed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from harness.coverage import Grade, cells_of
from harness.criteria import Criteria
from harness.errors import ScenarioError
from harness.scenario import SCENARIOS, Scenario, catalogue, load, to_yaml
from harness.scenario_flaws import explain_all
from harness.scenario_text import Path as FieldPath
from harness.scenario_text import Source, compose

SUITES = SCENARIOS / "suites"
MAX_CASES = 100_000
_SEED_END = 2**31


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SeedRange(_Strict):
    """Seeds that follow each other."""

    first: int = Field(1, ge=0, lt=_SEED_END)
    count: int = Field(ge=1, le=10_000)


class Part(_Strict):
    """Every one of its scenarios, in every variant, with every seed."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$", description="in case ids")
    scenarios: tuple[str, ...] = Field(
        min_length=1, description="names of scenarios, or files beside this one"
    )
    seeds: Union[SeedRange, tuple[int, ...]] = Field(  # noqa: UP007
        description="a list, or {first, count}"
    )
    variants: tuple[tuple[str, ...], ...] = Field(
        ((),), min_length=1, description="lists of a.b=c settings, one list a variant"
    )
    parameters: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict,
        description="a.b: list of values; every combination is a variant of its own",
    )

    @property
    def all_variants(self) -> tuple[tuple[str, ...], ...]:
        """Variants, each with every combination of the parameters' values."""
        names = list(self.parameters)
        return tuple(
            (*variant, *(f"{name}={json.dumps(value, default=str)}" for name, value
                         in zip(names, values, strict=True)))
            for variant in self.variants
            for values in itertools.product(*self.parameters.values())
        )  # fmt: skip

    @property
    def num_variants(self) -> int:
        """How many `all_variants` would be, without making them."""
        return len(self.variants) * math.prod(map(len, self.parameters.values()))

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds themselves."""
        if isinstance(self.seeds, SeedRange):
            return tuple(range(self.seeds.first, self.seeds.first + self.seeds.count))
        return self.seeds


class Campaign(_Strict):
    """What is run, and in which order."""

    title: str = Field(min_length=1, max_length=120)
    description: str = Field("", max_length=2000)
    parts: tuple[Part, ...] = Field(min_length=1)
    controls: tuple[Part, ...] = Field(
        (), description="parts in which nobody may be blamed; `qualify` needs some"
    )
    criteria: Criteria | None = Field(
        None, description="what must be reached; `qualify` needs them"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run that is to be made; `case_id` is the same whenever the file is."""

    case_id: str  # part/scenario/variant/seed
    part: str
    scenario_name: str
    scenario: Scenario
    is_control: bool = False
    settings: tuple[str, ...] = ()  # what its variant sets

    @property
    def kinds(self) -> str:
        """Kinds of its faults; `clean` for none."""
        kinds = dict.fromkeys(fault.kind for fault in self.scenario.faults)
        return "+".join(kinds) or "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All cases of a campaign, in order; `digest` changes with anything in them."""

    campaign: Campaign
    cases: tuple[Case, ...]
    digest: str


def plan(path: Path, *, to_qualify: bool = False) -> Plan:
    """Read a campaign and every scenario that it names.

    Args:
        to_qualify: controls and criteria must be there.

    Raises:
        ScenarioError: it, or one of its scenarios, cannot be used; says everything.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        flaw = Source(str(path)).flaw(("file",), f"cannot be read: {error}")
        raise ScenarioError([flaw]) from None
    data, source = compose(text, str(path))
    try:
        campaign = Campaign.model_validate(data)
    except ValidationError as error:
        flaws = explain_all(error.errors(), schema(), source)
        raise ScenarioError(flaws) from None
    found = [*_cross_check(campaign), *(_lacks(campaign) if to_qualify else ())]
    if found:
        raise ScenarioError([source.flaw(*parts) for parts in found])
    cases = tuple(_cases(campaign, path.parent, source))
    return Plan(campaign=campaign, cases=cases, digest=_digest(cases))


def schema() -> dict[str, Any]:
    """The JSON schema of campaign files."""
    return TypeAdapter(Campaign).json_schema()


def suites() -> dict[str, Path]:
    """Campaigns that ship, by name."""
    return {path.stem: path for path in sorted(SUITES.glob("*.yaml"))}


def _lacks(campaign: Campaign) -> Iterator[tuple[FieldPath, str, str, str]]:
    if not campaign.controls:
        yield ("controls",), "is missing", "nothing", (
            "at least one part in which nobody may be blamed, such as "
            "{name: clean, scenarios: [clean], seeds: [1]}"
        )  # fmt: skip
    if campaign.criteria is None:
        needed = [name for name, field in Criteria.model_fields.items()
                  if field.is_required()]  # fmt: skip
        yield ("criteria",), "is missing", "nothing", f"at least {', '.join(needed)}"


def _sections(campaign: Campaign) -> Iterator[tuple[FieldPath, Part, bool]]:
    for field in ("parts", "controls"):
        for index, part in enumerate(getattr(campaign, field)):
            yield (field, index), part, field == "controls"


def _cross_check(campaign: Campaign) -> Iterator[tuple[FieldPath, str, str, str]]:
    names: set[str] = set()
    number = 0
    for here, part, _ in _sections(campaign):
        if part.name in names:
            yield (*here, "name"), "is used twice", repr(part.name), "one name per part"
        names.add(part.name)
        for field in ("scenarios", "variants"):
            values = getattr(part, field)
            if len(set(values)) != len(values):
                yield (*here, field), "has one twice", "", "each one once"
        for name, choices in part.parameters.items():
            where: FieldPath = (*here, "parameters", name)
            texts = [json.dumps(value, default=str) for value in choices]
            if not texts or len(set(texts)) != len(texts):
                yield where, "must be distinct values", str(texts[:8]), "one or more"
        seeds = part.seed_list
        if not seeds or len(set(seeds)) != len(seeds):
            yield (
                (*here, "seeds"),
                "must be distinct",
                str(list(seeds)[:8]),
                "one or more",
            )
        number += len(part.scenarios) * part.num_variants * len(seeds)
    if number > MAX_CASES:
        yield ("parts",), "make too many cases", str(number), f"up to {MAX_CASES}"


def _cases(campaign: Campaign, folder: Path, source: Source) -> Iterator[Case]:
    for here, part, is_control in _sections(campaign):
        for place, word in enumerate(part.scenarios):
            where: FieldPath = (*here, "scenarios", place)
            path = _scenario_path(word, folder, source, where)
            for number, settings in enumerate(part.all_variants, 1):
                scenario = load(path, settings=settings)
                if is_control:
                    _hold_control(scenario, word, source, where)
                for seed in part.seed_list:
                    yield Case(
                        case_id=f"{part.name}/{path.stem}/v{number}/s{seed}",
                        part=part.name,
                        scenario_name=path.stem,
                        scenario=scenario.model_copy(update={"seed": seed}),
                        is_control=is_control,
                        settings=settings,
                    )


def _hold_control(
    scenario: Scenario, word: str, source: Source, here: FieldPath
) -> None:
    """A control that expects a verdict, or hurts a rank, would count no clean hour."""
    harmful = [
        fault.kind
        for fault in scenario.faults
        if not any(cell.grade is Grade.CONTROL for cell in cells_of(fault.kind))
    ]
    if scenario.expect or harmful:
        why = ", ".join(harmful) or f"{len(scenario.expect)} expected verdicts"
        allowed = "scenarios with `expect: []` and no fault but those of controls"
        raise ScenarioError(
            [source.flaw(here, "is no control", f"{word!r} with {why}", allowed)]
        )


def _scenario_path(word: str, folder: Path, source: Source, here: FieldPath) -> Path:
    known = catalogue()
    if word in known:
        return known[word]
    if word.endswith((".yaml", ".yml")):
        return folder / word
    allowed = f"a file, or one of {', '.join(known)}"
    raise ScenarioError([source.flaw(here, "no such scenario", repr(word), allowed)])


def _digest(cases: tuple[Case, ...]) -> str:
    """Over whole scenarios: a changed one must not be taken for the same case."""
    found = hashlib.sha256()
    for case in cases:
        found.update(f"{case.case_id}\n{to_yaml(case.scenario)}\n".encode())
    return found.hexdigest()[:16]
