"""A scenario: what is launched, what goes wrong, and who must be found (DESIGN sec. 4).

    YAML text -> composed with line numbers -> pydantic (unknown keys rejected)
              -> cross-checks -> Scenario, or ScenarioError naming every flaw

The JSON schema of `Scenario` also drives the dashboard's form.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from harness import yaml_bounds
from harness.errors import Flaw, ScenarioError
from injectors.fault import Parameters, RankParameters
from injectors.registry import FAULTS
from scout.config import ScoutConfig
from vocab.verdict import Kind, State

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
_Path = tuple[str | int, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Parallel(_Strict):
    """Sizes of the mesh axes; their product is the number of ranks (SCOUT sec. 4)."""

    replicate: int = Field(1, ge=1, le=64, description="data-parallel replicas")
    shard: Literal[1] = Field(1, description="FSDP state shards")
    tensor: Literal[1] = Field(1, description="tensor-parallel shards")
    pipeline: Literal[1] = Field(1, description="pipeline stages")
    context: Literal[1] = Field(1, description="context-parallel shards")
    expert: Literal[1] = Field(1, description="expert partitions")


class Workload(_Strict):
    """The job that trains."""

    model: Literal["transformer"] = Field(
        "transformer", description="SCOUT sec. 10.1's Transformer under DDP, AdamW"
    )
    parallel: Parallel = Field(default_factory=Parallel)
    num_layers: int = Field(3, ge=1, le=128, description="repeated blocks")
    d_model: int = Field(64, ge=8, le=4096, description="width; a multiple of heads")
    num_heads: int = Field(4, ge=1, le=64)
    vocab_size: int = Field(512, ge=16, le=262_144)
    seq_len: int = Field(32, ge=1, le=8192, description="tokens of a sequence")
    batch: int = Field(4, ge=1, le=4096, description="sequences a rank and step")
    dropout: float = Field(0.1, ge=0, lt=1)
    lr: float = Field(1e-3, gt=0)
    step_pause_s: float = Field(
        0.0, ge=0, le=60, description="idle seconds after each step, to watch a run"
    )


class Expectation(_Strict):
    """One incident that must be found, in a window of steps."""

    kind: Kind = Field(description="manifestation of the verdict")
    state: State = Field(State.ATTRIBUTED, description="state of the verdict")
    ranks: tuple[int, ...] = Field((), description="exactly these ranks are blamed")
    links: tuple[str, ...] = Field((), description="exactly these links are blamed")
    from_step: int = Field(ge=1, description="no verdict may come before this step")
    by_step: int = Field(ge=1, description="the verdict must stand by this step")


if TYPE_CHECKING:
    AnyFault = Parameters
else:  # the registry is the only list of faults
    AnyFault = Annotated[
        functools.reduce(operator.or_, (row.parameters for row in FAULTS.values())),
        Discriminator("kind"),
    ]


class Scenario(_Strict):
    """Everything of one run; the file is complete, nothing comes from elsewhere."""

    title: str = Field(min_length=1, max_length=120)
    description: str = Field("", max_length=2000, description="what it proves, and why")
    seed: int = Field(0, ge=0, lt=2**31)
    steps: int = Field(12, ge=1, le=1_000_000, description="optimizer steps")
    workload: Workload = Field(default_factory=Workload)
    runtime: Literal["process"] = Field("process", description="where ranks run")
    fabric: Literal["none"] = Field("none", description="network between hosts")
    scout: Union[ScoutConfig, Literal["off"]] = Field(  # noqa: UP007
        default_factory=ScoutConfig
    )
    faults: tuple[AnyFault, ...] = ()
    expect: tuple[Expectation, ...] = Field(
        (), description="incidents that must be found; [] means nobody may be blamed"
    )
    timeout_s: float = Field(
        300.0, gt=0, le=86_400, description="the run is given up after this long"
    )

    @field_validator("scout", mode="before")
    @classmethod
    def _off_is_false_in_yaml(cls, value: Any) -> Any:
        return "off" if value is False else value

    @property
    def num_ranks(self) -> int:
        """Ranks of the job: the product of the mesh axes."""
        return self.workload.parallel.replicate

    def named_faults(self) -> list[tuple[str, Parameters]]:
        """Faults with their ids: the given one, or kind and position."""
        return [
            (fault.id or f"{fault.kind}-{index}", fault)
            for index, fault in enumerate(self.faults)
        ]


def load(path: Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: unreadable, or flawed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        flaw = _flaw(str(path), None, "file", f"cannot be read: {error}")
        raise ScenarioError([flaw]) from None
    return parse(text, file=str(path))


def parse(text: str, *, file: str = "scenario") -> Scenario:
    """Read a scenario from YAML text; `file` is named in errors.

    Raises:
        ScenarioError: with one flaw per wrong field.
    """
    data, lines = _compose(text, file)
    return from_data(data, file=file, lines=lines)


def from_data(
    data: Any, *, file: str = "scenario", lines: dict[_Path, int] | None = None
) -> Scenario:
    """Build a scenario from plain data; `lines` maps paths to lines of `file`.

    Raises:
        ScenarioError: with one flaw per wrong field.
    """
    lines = lines or {}
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(
            [_explain(item, file, lines) for item in error.errors()]
        ) from None
    flaws = [
        _flaw(file, _line(lines, path), _dotted(path), message, value, allowed)
        for path, message, value, allowed in _cross_check(scenario)
    ]
    if flaws:
        raise ScenarioError(flaws)
    return scenario


def override(data: Any, settings: list[str]) -> Any:
    """Apply `a.b=c` settings to plain scenario data; values are YAML.

    Raises:
        ScenarioError: a setting has no `=`, or goes through something not a mapping.
    """
    for setting in settings:
        key, equals, value = setting.partition("=")
        path = [int(part) if part.isdigit() else part for part in key.split(".")]
        try:
            if not equals or not key:
                raise ValueError("expected a.b=value")
            _put(data, path, yaml.safe_load(value))
        except (ValueError, LookupError, TypeError, yaml.YAMLError) as error:
            flaw = _flaw("--set", None, key, f"cannot be set: {error}", setting)
            raise ScenarioError([flaw]) from None
    return data


def to_yaml(scenario: Scenario) -> str:
    """The canonical file of a scenario: form and YAML editor both end here.

    What equals the default is left out; the order is that of the schema.
    """
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    data = {"title": scenario.title, "seed": scenario.seed, "steps": scenario.steps,
            **data, "expect": data.get("expect", [])}  # fmt: skip
    ordered = {name: data[name] for name in Scenario.model_fields if name in data}
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=88)


def schema() -> dict[str, Any]:
    """The JSON schema of scenario files."""
    return TypeAdapter(Scenario).json_schema()


def catalogue(folder: Path = SCENARIOS) -> dict[str, Path]:
    """Scenario files by name, those that ship unless another folder is given."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _cross_check(scenario: Scenario) -> Iterator[tuple[_Path, str, str, str]]:
    last_rank = scenario.num_ranks - 1
    width, heads = scenario.workload.d_model, scenario.workload.num_heads
    if width % heads:
        yield (("workload", "d_model"), "is no multiple of num_heads", str(width),
               f"multiples of {heads}")  # fmt: skip
    seen: set[str] = set()
    for index, (fault_id, fault) in enumerate(scenario.named_faults()):
        here: _Path = ("faults", index)
        if fault_id in seen:
            yield (*here, "id"), "is used twice", repr(fault_id), "one id per fault"
        seen.add(fault_id)
        if isinstance(fault, RankParameters):
            yield from _check_rank_fault(scenario, fault, here)
    for index, expected in enumerate(scenario.expect):
        here = ("expect", index)
        for rank in expected.ranks:
            if rank > last_rank or rank < 0:
                yield (*here, "ranks"), "no such rank", str(rank), f"0..{last_rank}"
        if expected.by_step < expected.from_step:
            yield ((*here, "by_step"), "is before from_step", str(expected.by_step),
                   f"{expected.from_step} or more")  # fmt: skip
        if (expected.state is State.ATTRIBUTED) != bool(
            expected.ranks or expected.links
        ):
            message = f"must fit state {expected.state.value}"
            named = str(list(expected.ranks))
            yield (*here, "ranks"), message, named, "somebody exactly if attributed"


def _check_rank_fault(
    scenario: Scenario, fault: RankParameters, here: _Path
) -> Iterator[tuple[_Path, str, str, str]]:
    if fault.rank >= scenario.num_ranks:
        yield ((*here, "rank"), "no such rank", str(fault.rank),
               f"0..{scenario.num_ranks - 1}")  # fmt: skip
    if fault.at_step > scenario.steps:
        yield ((*here, "at_step"), "is after the last step", str(fault.at_step),
               f"1..{scenario.steps}")  # fmt: skip
    if fault.until_step is not None and fault.until_step < fault.at_step:
        yield ((*here, "until_step"), "is before at_step", str(fault.until_step),
               f"{fault.at_step} or more")  # fmt: skip
    if (fault.lifetime == "intermittent") != (fault.probability is not None):
        yield ((*here, "probability"), f"must fit lifetime {fault.lifetime}",
               str(fault.probability), "a chance exactly if intermittent")  # fmt: skip


def _compose(text: str, file: str) -> tuple[Any, dict[_Path, int]]:
    try:
        yaml_bounds.check(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else getattr(error, "line", None)
        problem = getattr(error, "problem", None) or str(error)
        flaw = _flaw(file, line, "yaml", f"is not readable: {problem}")
        raise ScenarioError([flaw]) from None
    lines: dict[_Path, int] = {}
    doubles: list[Flaw] = []
    if node is not None:
        _note_lines(node, (), lines, doubles, file)
    if doubles:
        raise ScenarioError(doubles)
    return data, lines


def _note_lines(
    node: yaml.Node, path: _Path, lines: dict[_Path, int], doubles: list[Flaw],
    file: str,
) -> None:  # fmt: skip
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner: _Path = (*path, str(key.value))
            if inner in lines:
                doubles.append(_flaw(file, key.start_mark.line + 1, _dotted(inner),
                                     "stands twice"))  # fmt: skip
            lines[inner] = key.start_mark.line + 1
            _note_lines(value, inner, lines, doubles, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _note_lines(value, (*path, index), lines, doubles, file)


def _explain(error: Any, file: str, lines: dict[_Path, int]) -> Flaw:
    # pydantic puts tags of unions into the path (the fault's kind, a class name);
    # what is no key of the file is left out of the name that the user sees.
    path = _strip_tags(tuple(error["loc"]), lines)
    kind, context = error["type"], error.get("ctx", {})
    message, allowed = error["msg"], ""
    value = "" if kind in ("missing", "extra_forbidden") else _short(error["input"])
    if kind == "extra_forbidden":
        names = _fields_at(error["loc"])
        message, allowed = "unknown key", ", ".join(names)
        close = difflib.get_close_matches(str(error["loc"][-1]), names, 1)
        message += f" (did you mean {close[0]!r}?)" if close else ""
    elif kind == "missing":
        message = "is required"
    elif kind in ("literal_error", "enum"):
        message, allowed = "unknown value", str(context.get("expected", ""))
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        message, allowed = "unknown kind of fault", ", ".join(FAULTS)
        path = (*path, "kind")
        tag = context.get("tag")
        value = repr(tag) if tag is not None else ""
    elif kind == "value_error":
        message, _, allowed = str(context.get("error", message)).partition(
            "; allowed: "
        )
    return _flaw(file, _line(lines, path), _dotted(path), message, value, allowed)


def _strip_tags(loc: _Path, lines: dict[_Path, int]) -> _Path:
    path: _Path = ()
    for position, part in enumerate(loc):
        is_last = position == len(loc) - 1
        is_tag = (
            part in FAULTS
            or part in ("ScoutConfig", "literal['off']")
            or (isinstance(part, str) and part.startswith("constrained"))
        )
        if is_tag and (*path, part) not in lines:
            continue
        path = (*path, part)
        if is_last:
            break
    return path


def _fields_at(loc: tuple[str | int, ...]) -> list[str]:
    """Names allowed beside an unknown key, by walking the models along its path."""
    if len(loc) >= 3 and loc[0] == "faults":
        return sorted(FAULTS[str(loc[2])].parameters.model_fields)
    models: dict[str, Any] = {
        "expect": Expectation, "workload": Workload, "scout": ScoutConfig,
    }  # fmt: skip
    model: Any = Scenario if len(loc) == 1 else models.get(str(loc[0]), Scenario)
    if "parallel" in loc[:-1]:
        model = Parallel
    fields = getattr(model, "model_fields", None)
    return sorted(fields or {f.name for f in dataclasses.fields(model)})


def _line(lines: dict[_Path, int], path: _Path) -> int | None:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _dotted(path: _Path) -> str:
    return ".".join(str(part) for part in path) or "scenario"


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _flaw(
    file: str, line: int | None, field: str, message: str, value: str = "",
    allowed: str = "",
) -> Flaw:  # fmt: skip
    return Flaw(file=file, line=line, field=field, value=value, allowed=allowed,
                message=message)  # fmt: skip


def _put(data: Any, path: list[str | int], value: Any) -> None:
    for part in path[:-1]:
        if isinstance(data, list):
            data = data[int(part)]
        elif isinstance(data, dict):
            data = data.setdefault(part, {})
        else:
            raise ValueError(f"{part!r} is inside {_short(data)}, not a mapping")
    if isinstance(data, list):
        data[int(path[-1])] = value
    elif isinstance(data, dict):
        data[path[-1]] = value
    else:
        raise ValueError(f"{path[-1]!r} is inside {_short(data)}, not a mapping")
